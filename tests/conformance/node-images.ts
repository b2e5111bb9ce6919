import { type ImageDescription, requireTool, TestAuthority, temporaryDirectory } from '@capstan/testbed';

const registry = 'registry.k8s.io/e2e-test-images';

/** The specs fetch pages with a few of curl's options; busybox has only wget. */
const curl = `#!/bin/sh
file=-
status=
while [ $# -gt 0 ]; do
  case "$1" in
    --connect-timeout | --max-time | -m | -H | -X | --interface | --retry) shift ;;
    -o) shift; file="$1" ;;
    -w) status=1; shift ;;
    -*) ;;
    *) url="$1" ;;
  esac
  shift
done
case "$url" in http*) ;; *) url="http://$url" ;; esac
timeout 15 wget -q -O "$file" "$url"
`;

/** A static busybox has no resolver but that of nslookup. */
const resolving = `address() {
  case "$1" in *[!0-9.]*) ;; *) echo "$1"; return ;; esac
  for domain in "" $(sed -n 's/^search //p' /etc/resolv.conf); do
    found=$(nslookup "$1\${domain:+.$domain}" 2> /dev/null | awk '/^Name:/ { named = 1 } named && /^Address/ { print $2; exit }')
    if [ -n "$found" ]; then echo "$found"; return; fi
  done
  echo "$1"
}
`;

/** Without the options that busybox lacks: all connections are TCP, and `-z` only connects. */
const nc = `#!/bin/sh
wait=2
input=/dev/stdin
while [ $# -gt 2 ]; do
  case "$1" in
    -w) shift; wait="$1" ;;
    -z | -zv | -vz) input=/dev/null ;;
  esac
  shift
done
${resolving}exec busybox nc -w "$wait" "$(address "$1")" "$2" < "$input"
`;

const page = '<html><body><h1>It works!</h1></body></html>\n';

/** A web server with the files where the real image has them. */
const webServer = (name: string, tags: readonly string[], root: string): ImageDescription => ({
  names: tags.map((tag) => `${registry}/${name}:${tag}`),
  // The first process of a container ignores SIGTERM, unless it handles it.
  entrypoint: ['/bin/sh', '-c', `trap 'exit 0' TERM INT; httpd -f -v -p 80 -h ${root} & wait`],
  files: { [`${root.slice(1)}/index.html`]: page },
});

/**
 * The images that the specs use, made here from busybox and Kubernetes' own test program. They behave like the real ones as far as the specs
 * look.
 */
export async function nodeImages(): Promise<readonly ImageDescription[]> {
  const agnhost = await requireTool('agnhost');
  // With which the program serves HTTPS.
  using directory = temporaryDirectory('certificate');
  const own = await (await TestAuthority.create(directory.path)).issue('/CN=localhost', ['127.0.0.1']);
  return [
    {
      names: [`${registry}/agnhost:2.56`],
      entrypoint: ['/agnhost'],
      command: ['pause'],
      programs: { agnhost, 'agnhost-2': agnhost },
      files: { 'etc/nsswitch.conf': 'hosts: files dns\n', 'localhost.crt': own.certificate, 'localhost.key': own.key },
      scripts: { 'usr/local/bin/curl': curl, 'usr/local/bin/nc': nc },
    },
    { names: [`${registry}/busybox:1.37.0-1`, `${registry}/busybox:1.36.1-1`], command: ['sh'] },
    webServer('httpd', ['2.4.38-4', '2.4.39-4'], '/usr/local/apache2/htdocs'),
    webServer('nginx', ['1.14-4', '1.15-4'], '/usr/share/nginx/html'),
    { names: [`${registry}/nonroot:1.4`], user: '1234', command: ['sh', '-c', 'id -u'] },
  ];
}

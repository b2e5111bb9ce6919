import { type ImageDescription, requireExactTool, requireTool, TestAuthority, temporaryDirectory } from '@capstan/testbed';

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

const page = '<html><body><h1>It works!</h1></body></html>\n';

/** A web server with the files where the real image has them. */
const webServer = (name: string, tags: readonly string[], root: string): ImageDescription => ({
  names: tags.map((tag) => `${registry}/${name}:${tag}`),
  // The first process of a container ignores SIGTERM, unless it handles it.
  entrypoint: ['/bin/sh', '-c', `trap 'exit 0' TERM INT; httpd -f -v -p 80 -h ${root} & wait`],
  files: { [`${root.slice(1)}/index.html`]: page },
});

const withFiles = (image: ImageDescription, files: Readonly<Record<string, string>>): ImageDescription => ({
  ...image,
  files: { ...image.files, ...files },
});

/**
 * The images that the specs use, made here from busybox and Kubernetes' own test program. They behave like the real ones as far as the specs
 * look.
 */
export async function nodeImages(): Promise<readonly ImageDescription[]> {
  const [agnhost, netutils] = [await requireTool('agnhost'), await requireTool('netutils')];
  const [nnp, sample] = [await requireTool('nnp'), await requireTool('sample-apiserver')];
  // Without libraries, unlike that of Debian.
  const etcd = await requireExactTool('etcd');
  const network = { 'usr/local/bin/dig': netutils, 'usr/local/bin/getent': netutils, 'usr/local/bin/nc': netutils };
  const nameService = { 'etc/nsswitch.conf': 'hosts: files dns\n' };
  // With which the program serves HTTPS.
  using directory = temporaryDirectory('certificate');
  const own = await (await TestAuthority.create(directory.path)).issue('/CN=localhost', ['127.0.0.1']);
  return [
    {
      names: [`${registry}/agnhost:2.56`],
      entrypoint: ['/agnhost'],
      command: ['pause'],
      programs: { agnhost, 'agnhost-2': agnhost, ...network },
      files: { ...nameService, 'localhost.crt': own.certificate, 'localhost.key': own.key },
      scripts: { 'usr/local/bin/curl': curl },
    },
    { names: [`${registry}/jessie-dnsutils:1.7`], command: ['sh'], programs: network, files: nameService },
    { names: [`${registry}/busybox:1.37.0-1`, `${registry}/busybox:1.36.1-1`], command: ['sh'] },
    webServer('httpd', ['2.4.38-4', '2.4.39-4'], '/usr/local/apache2/htdocs'),
    webServer('nginx', ['1.14-4', '1.15-4'], '/usr/share/nginx/html'),
    withFiles(webServer('nautilus', ['1.7'], '/html'), { 'html/data.json': '{"image": "nautilus.jpg"}\n' }),
    { names: [`${registry}/nonewprivs:1.3`], command: ['nnp'], setuidPrograms: { 'usr/local/bin/nnp': nnp } },
    { names: [`${registry}/sample-apiserver:1.29.2`], entrypoint: ['/sample-apiserver'], programs: { 'sample-apiserver': sample } },
    { names: ['registry.k8s.io/etcd:3.6.4-0'], programs: { 'usr/local/bin/etcd': etcd } },
    { names: [`${registry}/nonroot:1.4`], user: '1234', command: ['sh', '-c', 'id -u'] },
  ];
}

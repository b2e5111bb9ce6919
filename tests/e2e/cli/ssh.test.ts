import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { buildCapstan, Child, capstanProgram, freePort, output, run, temporaryDirectory } from '@capstan/testbed';
import { describeUnless, describeWith, type ToolPaths } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

await buildCapstan();

const patience = { timeout: 30_000, interval: 200 };
const hasSsh = await run('ssh', ['-V']).then(
  ({ code }) => code === 0,
  () => false,
);
const problem = process.getuid?.() !== 0 ? 'only root has units with users of their own' : hasSsh ? undefined : 'ssh is not installed';

/** A web page at port 8080 of the unit, without any program but Perl. */
const pages = `use IO::Socket; my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8080, Listen => 5, ReuseAddr => 1) or die;
while (my $c = $s->accept) { my $l = <$c>; print $c "HTTP/1.0 200 OK\\r\\n\\r\\npage of the unit\\n"; close $c }`;

/** As editors do it: looks at the machine, installs a server unless it is there, starts it unless it runs, and prints its port. */
const installScript = `set -e
folder=$HOME/.editor-server
if [ ! -e $folder/server ]; then
  echo "platform==$(uname -s)=="
  mkdir -p $folder
  cat > $folder/server <<'END'
#!/usr/bin/perl
use IO::Socket; $| = 1;
my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 0, Listen => 5) or die;
print "listening on ", $s->sockport, "\\n";
while (my $c = $s->accept) { my $l = <$c>; print $c "HTTP/1.0 200 OK\\r\\n\\r\\nserver of the editor\\n"; close $c }
END
  chmod +x $folder/server
  echo "installed==1=="
fi
if ! kill -0 "$(cat $folder/pid 2>/dev/null)" 2>/dev/null; then
  nohup $folder/server > $folder/log 2>&1 < /dev/null &
  echo $! > $folder/pid
fi
while ! grep -q listening $folder/log; do sleep 0.05; done
echo "listeningOn==$(sed -n 's/listening on //p' $folder/log)=="
echo "exitCode==0=="
`;

/** The answer to a request for a page, over a connection that a SOCKS5 proxy makes. */
async function throughSocks(proxy: number, host: string, port: number): Promise<string> {
  const socket = connect(proxy, '127.0.0.1').setTimeout(10_000, () => socket.destroy(new Error('SOCKS: no answer')));
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const next = async (): Promise<Buffer> => {
    const { value, done } = await chunks.next();
    if (done === true) throw new Error('SOCKS: the connection was closed');
    return value as Buffer;
  };
  try {
    socket.write(Buffer.from([5, 1, 0]));
    await next();
    socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), Buffer.from(host), Buffer.from([port >> 8, port & 255])]));
    const [, code] = await next();
    if (code !== 0) throw new Error(`SOCKS: the proxy answered ${code}`);
    socket.write('GET / HTTP/1.0\r\n\r\n');
    let answer = '';
    for (let part = await chunks.next(); part.done !== true; part = await chunks.next()) answer += (part.value as Buffer).toString();
    return answer;
  } finally {
    socket.destroy();
  }
}

const title = 'OpenSSH reaches a unit';
const needs = ['rsync', 'sftp-server', 'kubectl'] as const;
const suite = (tools: ToolPaths<(typeof needs)[number]>): void => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('ssh'));
  const data = directory.join('data');
  const configuration = directory.join('ssh_config');
  const environment = { HOME: directory.path, KUBECONFIG: `${data}/admin.kubeconfig` };
  const options = { environment, directory: directory.path, timeout: 30_000 };
  const capstan = (args: readonly string[], input = '') => run(process.execPath, [capstanProgram, ...args], { ...options, input });
  /** A program of OpenSSH, with the configuration that `capstan ssh config` prints. */
  const openSsh = (program: string, args: readonly string[], input = '') =>
    run(program, ['-F', configuration, ...args], { ...options, input });

  beforeAll(async () => {
    const port = String(await freePort());
    const up = new Child('capstan up', [process.execPath, capstanProgram, 'up', '--no-console', '--data-dir', data, '--port', port], {
      environment,
    });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    await vi.waitFor(async () => expect(await capstan(['ws', 'use', 'root:main:default'])).toMatchObject({ code: 0 }), patience);
    await vi.waitFor(
      async () => expect(await capstan(['offering', 'create', 'small', '--cpu', '200m', '--memory', '256Mi'])).toMatchObject({ code: 0 }),
      patience,
    );
    await vi.waitFor(async () => {
      const begun = await capstan(['run', '--network', 'none', '--no-upload', '-d', '--name', 'web', '--', 'perl', '-e', pages]);
      expect(begun.stderr + begun.stdout).toMatch(/^web$|exists/m);
    }, patience);
    await vi.waitFor(
      async () => expect(await capstan(['wait', 'web', '--for', 'running', '--timeout', '20'])).toMatchObject({ code: 0 }),
      patience,
    );
    // Units go on when their agent ends.
    stack.defer(async () => expect(await capstan(['rm', '--force', 'web'])).toMatchObject({ code: 0 }));
    const { code, stdout } = await capstan(['ssh', 'config']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Host \*\.capstan\n/)]);
    writeFileSync(configuration, stdout);
  });
  afterAll(() => stack.disposeAsync());

  test('with input, both outputs, variables and the exit code, and no question about keys', async () => {
    const { code, stdout, stderr } = await capstan(
      ['ssh', 'web', '--', 'cat; echo warning >&2; echo " $CAPSTAN_UNIT_NAME"; exit 7'],
      'hello',
    );
    expect([code, stdout, stderr]).toEqual([7, 'hello web\n', 'warning\n']);
    const set = await openSsh('ssh', ['-o', 'SetEnv=COLOUR=blue', 'web.capstan', 'echo $COLOUR; kill -9 $$']);
    expect([set.code, set.stdout]).toEqual([137, 'blue\n']);
    expect(await openSsh('ssh', ['someone@web.capstan'], 'echo $((6*7)); exit 3\n')).toMatchObject({ code: 3, stdout: '42\n' });
  });

  test('with large data in both directions, while keys are exchanged anew', async () => {
    const large = randomBytes(3_000_000).toString('base64');
    const echoed = await openSsh('ssh', ['-o', 'RekeyLimit=1M', 'web.capstan', 'cat'], large);
    expect([echoed.code, echoed.stdout === large, echoed.stderr]).toEqual([0, true, '']);
  });

  test('with a terminal that has the size of the one here, also when it changes', async () => {
    const seen = directory.join('seen');
    writeFileSync(seen, '');
    const there = 'trap "stty size; exit 5" WINCH; stty size; echo waiting; for i in $(seq 200); do sleep 0.1; done';
    const here = [
      'stty rows 33 cols 101',
      'terminal=$(tty)',
      `(for i in $(seq 200); do grep -q waiting ${seen} && break; sleep 0.1; done; stty -F $terminal rows 44 cols 120) & ssh -F ${configuration} -tt web.capstan '${there}'`,
      'echo code $?',
    ];
    writeFileSync(directory.join('resize.sh'), here.join('\n'));
    const { stdout } = await run(
      'bash',
      ['-c', `script -qefc 'bash ${directory.join('resize.sh')}' /dev/null </dev/null | tee ${seen}`],
      options,
    );
    expect(stdout).toMatch(/33 101\r\n.*waiting\r\n.*44 120\r\n.*code 5/s);
  });

  test('scp, sftp and rsync copy files there and back', async () => {
    mkdirSync(directory.join('tree/inner'), { recursive: true });
    const bytes = randomBytes(500_000);
    writeFileSync(directory.join('tree/inner/data'), bytes);
    writeFileSync(directory.join('tree/a b'), 'x');
    expect(await openSsh('scp', ['-O', '-r', 'tree', 'web.capstan:/tmp/copied'])).toMatchObject({ code: 0 });
    expect(await openSsh('scp', ['-O', 'web.capstan:/tmp/copied/inner/data', 'back'])).toMatchObject({ code: 0 });
    expect(readFileSync(directory.join('back')).equals(bytes)).toBe(true);
    const put = async (path: string, name: string): Promise<void> => {
      expect(await capstan(['cp', path, `web:/tmp/${name}`])).toMatchObject({ code: 0 });
      expect(await capstan(['ssh', 'web', '--', `chmod +x /tmp/${name}`])).toMatchObject({ code: 0 });
    };
    if (!existsSync('/usr/lib/openssh/sftp-server')) {
      const missing = await openSsh('sftp', ['web.capstan']);
      expect([missing.code, missing.stderr]).toEqual([255, expect.stringContaining('there is no sftp-server in this unit')]);
    }
    await put(tools['sftp-server'], 'sftp-server');
    const batch = 'put -r tree /tmp/by-sftp\nget /tmp/by-sftp/inner/data by-sftp\n';
    const path = 'SetEnv=PATH=/tmp:/usr/local/bin:/usr/bin:/bin';
    expect(await openSsh('sftp', ['-b', '-', '-o', path, 'web.capstan'], batch)).toMatchObject({
      code: 0,
    });
    expect(readFileSync(directory.join('by-sftp')).equals(bytes)).toBe(true);
    // From the package of Debian it is a script beside the program and its libraries, which are not in the unit.
    const [program = tools.rsync] = globSync(`${tools.rsync}.tree/usr/bin/rsync`);
    await put(program, 'rsync');
    expect(await capstan(['ssh', 'web', '--', 'mkdir /tmp/libraries'])).toMatchObject({ code: 0 });
    for (const library of globSync(`${tools.rsync}.tree/usr/lib/*/lib*.so*`))
      await put(realpathSync(library), `libraries/${basename(library)}`);
    const there = '--rsync-path=LD_LIBRARY_PATH=/tmp/libraries /tmp/rsync';
    const rsync = (...args: string[]) => run(tools.rsync, ['-a', there, '-e', `ssh -F ${configuration}`, ...args], options);
    expect(await rsync('tree/', 'web.capstan:/tmp/synced')).toMatchObject({ code: 0, stderr: '' });
    expect(await rsync('web.capstan:/tmp/synced/', 'synced')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(directory.path, 'synced/inner/data')).equals(bytes)).toBe(true);
    // As a remote shell of its own, without any configuration.
    const plain = await run(
      tools.rsync,
      ['-a', there, '-e', `${process.execPath} ${capstanProgram} ssh`, 'web:/tmp/synced/', 'again'],
      options,
    );
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(directory.path, 'again/a b'), 'utf8')).toBe('x');
  });

  test('ports of the unit are reached, and no other host', async () => {
    const [port, closed] = [await freePort(), await freePort()];
    const forwards = ['-L', `${port}:localhost:8080`, '-L', `${closed}:localhost:1`];
    await using forwarding = new Child('ssh -L', ['ssh', '-F', configuration, '-N', ...forwards, 'web.capstan'], { environment });
    await vi.waitFor(async () => expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('page of the unit\n'), patience);
    await expect(fetch(`http://127.0.0.1:${closed}/`)).rejects.toThrow();
    await forwarding.waitUntil('says why', () => forwarding.output.includes('nothing listens on port 1 in the unit'));
    const elsewhere = await openSsh('ssh', ['-W', '10.0.0.1:80', 'web.capstan']);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      255,
      expect.stringContaining('expected localhost, which is the unit itself, found "10.0.0.1"'),
    ]);
    await forwarding.stop();
  });

  test('a shell that installs and starts a server, which is reached through SOCKS of the same connection: the steps of VS Code', async () => {
    const connectAndInstall = async () => {
      const socks = await freePort();
      const words = ['-F', configuration, '-T', '-D', String(socks), '-o', 'ConnectTimeout=30', 'web.capstan', 'bash'];
      const child = spawn('ssh', words, { stdio: 'pipe', env: { ...process.env, ...environment }, timeout: 30_000 });
      let printed = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => (printed += part));
      child.stdin.write(installScript);
      await vi.waitFor(() => expect(printed).toMatch(/exitCode==0==\n$/), patience);
      const port = Number(/listeningOn==(\d+)==/.exec(printed)?.[1]);
      return {
        ...{ socks, port, printed },
        leave: async () => {
          child.stdin.end('exit 4\n');
          return ((await once(child, 'close')) as [number | null])[0];
        },
      };
    };
    const first = await connectAndInstall();
    expect(first.printed).toMatch(/^platform==Linux==\ninstalled==1==\n/);
    const pages = await Promise.all([1, 2, 3].map(() => throughSocks(first.socks, '127.0.0.1', first.port)));
    for (const page of pages) expect(page).toMatch(/server of the editor\n$/);
    await expect(throughSocks(first.socks, '10.0.0.1', 80)).rejects.toThrow('SOCKS');
    expect(await first.leave()).toBe(4);
    // The server goes on without the connection, and the next one finds it.
    const second = await connectAndInstall();
    expect([second.printed.includes('installed'), second.port]).toEqual([false, first.port]);
    expect(await throughSocks(second.socks, 'localhost', second.port)).toMatch(/server of the editor\n$/);
    expect(await second.leave()).toBe(4);
  });

  test('says what is wrong: no such unit, no right to enter it', async () => {
    expect(await capstan(['ssh', 'nobody', '--', 'true'])).toMatchObject({
      code: 255,
      stderr: expect.stringContaining('there is no unit nobody here'),
    });
    const kubectl = (...args: string[]) => output(tools.kubectl, args, options);
    await kubectl('create', 'serviceaccount', 'reader');
    await kubectl('create', 'clusterrolebinding', 'reader', '--clusterrole=viewer', '--serviceaccount=default:reader');
    await kubectl('config', 'set-credentials', 'reader', `--token=${(await kubectl('create', 'token', 'reader')).trim()}`);
    const cluster = await kubectl('config', 'view', '--minify', '-o', 'jsonpath={.contexts[0].context.cluster}');
    await kubectl('config', 'set-context', 'reader', '--user=reader', `--cluster=${cluster}`);
    const refused = await capstan(['ssh', '--context', 'reader', 'web', '--', 'true']);
    expect([refused.code, refused.stderr]).toEqual([
      255,
      expect.stringMatching(
        /^capstan: pods "web" is forbidden: User "system:serviceaccount:default:reader" cannot get resource "pods\/exec"/,
      ),
    ]);
    const forward = await capstan(['ssh', '--context', 'reader', '-o', 'ExitOnForwardFailure=yes', '-W', 'localhost:8080', 'web']);
    expect([forward.code, forward.stderr]).toEqual([255, expect.stringContaining('administratively prohibited: pods "web" is forbidden')]);
  });

  test("config --write includes the block in the user's own configuration, once", async () => {
    mkdirSync(directory.join('.ssh'), { mode: 0o700 });
    writeFileSync(directory.join('.ssh/config'), 'Host other\n  User me\n');
    for (let times = 0; times < 2; times++) expect(await capstan(['ssh', 'config', '--write'])).toMatchObject({ code: 0 });
    const included = directory.join('.config/capstan/ssh/config');
    expect(readFileSync(directory.join('.ssh/config'), 'utf8')).toBe(`Include "${included}"\n\nHost other\n  User me\n`);
    const { stdout } = await run('ssh', ['-F', directory.join('.ssh/config'), 'web.capstan', 'echo included'], options);
    expect(stdout).toBe('included\n');
  });
};

if (problem === undefined) await describeWith(needs, title, suite);
else describeUnless(problem, title, () => suite({ rsync: '', 'sftp-server': '', kubectl: '' }));

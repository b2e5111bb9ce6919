import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory, tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

await buildCapstan();

const kubectl = await tool('kubectl');
const patience = { timeout: 30_000, interval: 200 };
const needsRoot = process.getuid?.() === 0 ? undefined : 'units are isolated only by root';

describeUnless(needsRoot, 'capstan run on a real node', () => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('units'));
  const data = directory.join('data');
  const work = directory.join('work');
  let up: Child;

  const shared = directory.join('shared');
  const environment = {
    HOME: directory.path,
    KUBECONFIG: `${data}/admin.kubeconfig`,
    CAPSTAN_NODE_SHARED_DIRECTORIES: `scratch=${shared}`,
  };
  const command = (...args: string[]): string[] => [process.execPath, capstanProgram, ...args];
  const capstan = (args: readonly string[], input = '') =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: work, input, timeout: 60_000 });
  const start = (...args: string[]): Child => new Child(`capstan ${args[0]}`, command(...args), { environment, directory: work });
  /** Without a network: machines for tests need not have nftables. */
  const runUnit = (args: readonly string[], ...words: string[]) => capstan(['run', '--network', 'none', ...args, '--', ...words]);
  const put = (path: string, content = ''): void => {
    mkdirSync(join(work, path, '..'), { recursive: true });
    writeFileSync(join(work, path), content);
  };

  beforeAll(async () => {
    for (const folder of [work, shared]) mkdirSync(folder, { recursive: true });
    up = new Child('capstan up', command('up', '--data-dir', data, '--port', String(await freePort())), { environment });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    await vi.waitFor(async () => expect((await capstan(['node', 'list'])).stdout).toMatch(/\sReady\s/), patience);
  });
  afterAll(() => stack.disposeAsync());

  test('says where to go, and how to make an offering', async () => {
    put('a.txt', 'x');
    // The project of newcomers is made some time after the first start.
    await vi.waitFor(async () => expect((await runUnit([], 'true')).stderr).toContain('capstan ws use root:main:default'), patience);
    expect(await capstan(['ws', 'use', 'root:main:default'])).toMatchObject({ code: 0 });
    expect(await runUnit([], 'true')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('capstan offering create small --cpu 1 --memory 1Gi'),
    });
    expect(await capstan(['offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi'])).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan(['offering', 'list'])).stdout).toContain('small'), patience);
  });

  test('runs a program with the files of the working directory, and ends with its exit code', async () => {
    put('.gitignore', '*.tmp\n/data/*\n!/data/keep\n');
    put('data/keep', 'kept');
    put('data/drop');
    put('x.tmp');
    put('run.sh', 'cat data/keep; echo; find . | sort; echo failed >&2; exit 7');
    put('strange \u001b[31m\nname', '1');
    const { code, stdout, stderr } = await runUnit([], 'sh', 'run.sh');
    // Errors have a pipe of their own, so their place among the other lines depends on when somebody reads it.
    expect(stdout).toContain('failed\n');
    expect(stdout.replace('failed\n', '')).toBe(
      'kept\n.\n./.gitignore\n./a.txt\n./data\n./data/keep\n./run.sh\n./strange \u001b[31m\nname\n',
    );
    expect([code, stderr]).toEqual([7, expect.stringMatching(/capstan: run-[0-9a-f]{4}: Failed: .*exit code 7\n$/)]);
  });

  test('prints all that programs have printed that end at once', async () => {
    for (let run = 0; run < 12; run++) expect((await runUnit(['--no-upload'], 'echo', `run ${run}`)).stdout).toBe(`run ${run}\n`);
  });

  test.skipIf('missing' in kubectl)(
    'is shown alike by kubectl, the REST API, the CLI and its Pod',
    async () => {
      const withKubectl = async (...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await run((kubectl as { path: string }).path, args, { environment, timeout: 60_000 });
        expect([code, stderr]).toEqual([0, '']);
        return stdout;
      };
      await withKubectl('create', 'serviceaccount', 'reader');
      await withKubectl('create', 'clusterrolebinding', 'reader', '--clusterrole=cluster-admin', '--serviceaccount=default:reader');
      const authorization = `Bearer ${(await withKubectl('create', 'token', 'reader')).trim()}`;
      const { stdout } = await capstan(['status', '--data-dir', data, '--output', 'json']);
      const { processes } = JSON.parse(stdout) as { processes: { name: string; ports: { name: string; port: number }[] }[] };
      const port = processes.find(({ name }) => name === 'runtime-api')!.ports.find(({ name }) => name === 'http')!.port;

      interface Facts {
        readonly phase?: string;
        readonly exitCode?: number;
        readonly restarts?: number;
        readonly members?: readonly { readonly node: string }[];
      }
      const factsOf = ({ phase, members, exitCode, restarts = 0 }: Facts) => [phase, members?.[0]?.node, exitCode, restarts];
      /** The phase, the node, the exit code and the restarts of a unit, in every way that shows them. */
      const views = async (unit: string): Promise<unknown[]> => {
        const [object, pod, list, answer] = await Promise.all([
          withKubectl('get', 'gpuunit', unit, '-o', 'json'),
          withKubectl('get', 'pod', unit, '-o', 'json'),
          capstan(['ps', '--all', '--output', 'json']),
          fetch(`http://127.0.0.1:${port}/api/v1/gpu-units/${unit}`, { headers: { authorization } }),
        ]);
        const shown = JSON.parse(pod) as {
          spec: { nodeName?: string };
          status: { phase: string; containerStatuses: { restartCount: number; state: { terminated?: { exitCode: number } } }[] };
        };
        const [container] = shown.status.containerStatuses;
        const { items } = JSON.parse(list.stdout) as { items: { metadata: { name: string }; status: Facts }[] };
        return [
          factsOf((JSON.parse(object) as { status: Facts }).status),
          factsOf(items.find(({ metadata }) => metadata.name === unit)!.status),
          factsOf(((await answer.json()) as { status: Facts }).status),
          [shown.status.phase, shown.spec.nodeName, container?.state.terminated?.exitCode, container?.restartCount],
        ];
      };
      const all = (facts: readonly unknown[]): unknown[] => Array.from({ length: 4 }, () => facts);
      const nodes = JSON.parse((await capstan(['node', 'list', '--output', 'json'])).stdout) as { items: { metadata: { name: string } }[] };
      const node = nodes.items[0]!.metadata.name;
      expect(await runUnit(['--no-upload', '-d', '--name', 'shown'], 'sleep', '600')).toMatchObject({ code: 0 });
      await vi.waitFor(async () => expect(await views('shown')).toEqual(all(['Running', node, undefined, 0])), patience);
      await capstan(['rm', '--force', 'shown']);
      expect((await runUnit(['--no-upload', '--name', 'shown-failed'], 'sh', '-c', 'exit 3')).code).toBe(3);
      await vi.waitFor(async () => expect(await views('shown-failed')).toEqual(all(['Failed', node, 3, 0])), patience);
      await capstan(['rm', 'shown-failed']);
    },
    90_000,
  );

  test('keeps files in a volume, which outlives units and has a size that holds', async () => {
    put('dataset/greeting', 'hello\n');
    expect(await capstan(['volume', 'create', 'data', '--size', '64Mi'])).toMatchObject({ code: 0 });
    const early = await capstan(['volume', 'cp', 'dataset', 'data:/']);
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('data is on no node yet')]);
    expect(await capstan(['volume', 'cp', '--offering', 'small', 'dataset', 'data:/'])).toMatchObject({ code: 0 });
    expect((await capstan(['volume', 'ls', 'data:/dataset'])).stdout).toMatch(/ 6 .* greeting\n/);
    const script = 'cat /data/dataset/greeting; head -c 100M /dev/zero > /data/large || rm /data/large; echo written > /data/result';
    expect((await runUnit(['--no-upload', '-v', 'data:/data'], 'sh', '-c', script)).stdout).toMatch(
      /^hello\n.*No space left on device\n$/s,
    );
    expect(await capstan(['volume', 'cp', 'data:result', 'result'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(work, 'result'), 'utf8')).toBe('written\n');
    expect((await capstan(['ps', '--all'])).stdout).not.toContain('volume-data');
    expect((await runUnit(['--no-upload', '-d', '--name', 'holder', '-v', 'data:/data:ro'], 'sleep', '600')).code).toBe(0);
    expect(await capstan(['wait', 'holder', '--for', 'running'])).toMatchObject({ code: 0 });
    await capstan(['volume', 'create', 'unused', '--size', '64Mi']);
    expect(await capstan(['volume', 'snapshot', 'unused'])).toMatchObject({ code: 2, stderr: expect.stringContaining('has no files yet') });
    await capstan(['volume', 'rm', 'unused']);
    expect(await capstan(['volume', 'snapshot', 'data', 'before'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Ready') });
    expect((await capstan(['volume', 'snapshots', 'data'])).stdout).toMatch(/^NAME .*\nbefore +data +20\d\d-.* Ready /);
    expect((await capstan(['volume', 'cp', 'result', 'before:/'])).stderr).toContain('before is a snapshot');
    expect(await capstan(['volume', 'clone', 'before', 'again'])).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan(['volume', 'rm', 'data'])).stderr).toContain('data is mounted by holder'), patience);
    await capstan(['rm', '--force', 'holder']);
    await vi.waitFor(
      async () => expect(await capstan(['volume', 'rm', 'data'])).toMatchObject({ code: 0, stdout: 'data: deleted\n' }),
      patience,
    );
    expect((await runUnit(['--no-upload', '-v', 'again:/data'], 'cat', '/data/result')).stdout).toBe('written\n');
    await vi.waitFor(async () => expect(await capstan(['volume', 'rm', 'again', 'before'])).toMatchObject({ code: 0 }), patience);
    expect(readdirSync(join(data, 'node-agent', 'storages'))).toEqual([]);
  }, 90_000);

  test('keeps files in a directory that nodes share', async () => {
    expect(await capstan(['volume', 'create', 'common', '--size', '64Mi', '--class', 'scratch'])).toMatchObject({ code: 0 });
    expect((await runUnit(['--no-upload', '-v', 'common:/data'], 'sh', '-c', 'echo shared > /data/file')).code).toBe(0);
    expect((await runUnit(['--no-upload', '-v', 'common:/data:ro'], 'cat', '/data/file')).stdout).toBe('shared\n');
    expect((await capstan(['volume', 'list'])).stdout).toMatch(/common .* Ready .*the size is not enforced/);
    expect(await capstan(['quota', 'set', 'root:main:default', '--storage', '1Gi'])).toMatchObject({ code: 0 });
    expect(await capstan(['volume', 'create', 'huge', '--size', '2Gi'])).toMatchObject({ code: 0 });
    const shown = async (): Promise<string> => (await capstan(['volume', 'show', 'huge'])).stdout;
    await vi.waitFor(async () => expect(await shown()).toContain('the limit of root:main:default is 1 GiB of storage'), patience);
    expect((await capstan(['quota', 'show', 'root:main:default'])).stdout).toContain('1 GiB of storage');
    expect(await capstan(['quota', 'delete', 'root:main:default'])).toMatchObject({ code: 0 });
    expect((await capstan(['usage', '-o', 'csv'])).stdout).toMatch(/,storage_gib_seconds\nroot:main:default,.*,[\d.]*[1-9][\d.]*\n$/);
    await vi.waitFor(async () => expect(await capstan(['volume', 'rm', 'common', 'huge'])).toMatchObject({ code: 0 }), patience);
    expect(readdirSync(join(shared, 'tenants'), { recursive: true })).toHaveLength(2);
  }, 60_000);

  test('says that memory was too small', async () => {
    const { code, stderr } = await runUnit(['--no-upload'], 'perl', '-e', '$x = "a" x (1 << 30); print length $x');
    expect([code, stderr]).toEqual([137, expect.stringContaining('Failed (OutOfMemory)')]);
  });

  test('a command that does not exist has no exit code of its own', async () => {
    const { code, stderr } = await runUnit(['--no-upload'], '/no/such/program');
    expect(stderr).toContain('/no/such/program');
    expect(code).toBeGreaterThan(124);
  });

  test('says why it waits, and stops at Ctrl-C', async () => {
    await using waiting = start('run', '--network', 'none', '--no-upload', '--gpu', 'H100', '--', 'true');
    await waiting.waitUntil('says why', () => /Waiting: .*H100/.test(waiting.output));
    waiting.signal('SIGINT');
    expect(await waiting.exited).toEqual({ code: 130, signal: null });
    expect(waiting.output).toContain('Stopped');
  });

  test('Ctrl-C stops the program, whose last words are printed', async () => {
    await using running = start(
      'run',
      '--network',
      'none',
      '--no-upload',
      '--',
      'sh',
      '-c',
      'trap "echo last words; exit" TERM; echo begun; while :; do sleep 0.1; done',
    );
    await running.waitUntil('runs', () => running.output.includes('begun'));
    running.signal('SIGINT');
    expect(await running.exited).toEqual({ code: 130, signal: null });
    expect(running.output).toContain('last words');
  });

  test('no line is lost or repeated when the server is killed', async () => {
    const script = 'i=0; while [ $i -lt 80 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; printf "no end"; exit 3';
    const file = directory.join('output');
    writeFileSync(file, '');
    await using running = new Child(
      'capstan run',
      ['bash', '-c', `exec ${command('run', '--network', 'none', '--no-upload').join(' ')} -- sh -c '${script}' > ${file}`],
      { environment, directory: work },
    );
    await running.waitUntil('prints', () => existsSync(file) && readFileSync(file, 'utf8').includes('line 5\n'));
    const { stdout } = await capstan(['status', '--data-dir', data, '-o', 'json']);
    const { pid } = (JSON.parse(stdout) as { processes: { name: string; pid: number }[] }).processes.find(
      ({ name }) => name === 'apiserver',
    )!;
    process.kill(pid, 'SIGKILL');
    expect(await running.exited).toEqual({ code: 3, signal: null });
    // A program that does not end its last line may get one: logs have lines.
    expect(readFileSync(file, 'utf8').trimEnd()).toBe(`${Array.from({ length: 80 }, (_, index) => `line ${index}\n`).join('')}no end`);
    expect(running.output).toMatch(/The connection was lost .*\nConnected again\.\n/);
  });

  test('a unit in the background: logs, shell, cp, port-forward, stop, start, rm', async () => {
    const begun = await runUnit(
      ['-d', '--name', 'web', '-p', 'http=8099', '-e', 'GREETING=hello'],
      'sh',
      '-c',
      'echo $GREETING; exec perl server.pl',
    );
    // The files are not there yet: the program fails, and is started again with them.
    expect(begun).toMatchObject({ code: 0, stdout: 'web\n', stderr: expect.stringContaining('capstan logs -f web') });
    expect(await capstan(['wait', 'web', '--timeout', '30'])).toMatchObject({ code: 2 });
    put('server.pl', server);
    expect(await capstan(['start', 'web'])).toMatchObject({ code: 0 });
    expect(await capstan(['wait', 'web', '--for', 'running', '--timeout', '30'])).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan(['logs', 'web'])).stdout).toBe('hello\nlistening\n'), patience);
    expect(await capstan(['shell', 'web', '--', 'sh', '-c', 'cat; pwd; exit 4'], 'in ')).toMatchObject({
      code: 4,
      stdout: 'in /workspace\n',
    });
    expect(await capstan(['cp', 'data', 'web:/tmp/copied'])).toMatchObject({ code: 0 });
    expect(await capstan(['cp', 'web:/tmp/copied/keep', 'back'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(work, 'back'), 'utf8')).toBe('kept');
    await using forwarding = start('port-forward', 'web', ':http');
    await forwarding.waitUntil('forwards', () => forwarding.output.includes('-> http (8099)'));
    const [url] = /http:\/\/127.0.0.1:\d+/.exec(forwarding.output)!;
    expect(await (await fetch(`${url}/page`)).text()).toBe('GET /page');
    expect((await capstan(['ps'])).stdout).toMatch(/^web +Running +small +\S+ +- +0 /m);
    expect(await capstan(['stop', 'web'])).toMatchObject({ code: 0, stdout: 'web: stopped\n' });
    expect((await forwarding.exited).code).toBe(0);
    expect((await capstan(['ps'])).stdout).toContain('Nothing runs.');
    expect(await capstan(['rm', 'web'])).toMatchObject({ code: 0, stdout: 'web: deleted\n' });
    expect(await capstan(['logs', 'web'])).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no unit web here') });
  });

  test('a terminal', async () => {
    const seen = directory.join('seen');
    const line = `stty rows 33 cols 101; ${command('run', '-t', '--rm', '--network', 'none', '--no-upload').join(' ')} -- sh -c "echo first; sleep 1; echo ready; exec sh"`;
    const input = `(for try in $(seq 200); do grep -q ready ${seen} && break; sleep 0.1; done; echo 'stty size; exit 6')`;
    const { code, stdout } = await run(
      'bash',
      ['-c', `touch ${seen}; set -o pipefail; ${input} | script -qefc '${line}' /dev/null | tee ${seen}`],
      {
        environment,
        directory: work,
        timeout: 30_000,
      },
    );
    expect(stdout).toContain('33 101');
    expect(stdout.match(/first/g)).toHaveLength(1);
    expect(code).toBe(6);
  });
});

/** A web server in a few lines of what every machine has. */
const server = String.raw`use strict; use Socket; $| = 1; my $s;
socket($s, PF_INET, SOCK_STREAM, 0) && setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1) && bind($s, sockaddr_in(8099, INADDR_LOOPBACK)) && listen($s, 9) or die $!;
print "listening\n";
while (accept(my $c, $s)) {
  my $line = <$c>; while (<$c>) { last if /^\r?$/ }
  $line =~ s/ HTTP.*//s;
  print $c "HTTP/1.0 200 OK\r\nContent-Length: " . length($line) . "\r\nConnection: close\r\n\r\n$line"; close $c;
}
`;

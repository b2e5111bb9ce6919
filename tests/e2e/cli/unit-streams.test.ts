import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, capstanProgram, run, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCutLine } from '../support/cut-line.ts';
import { startUnitServer, type UnitServer } from '../support/unit-server.ts';

const running = { phase: 'Running', members: [{ rank: 0, node: 'n1', phase: 'Running' }], startedAt: '2026-01-01T00:00:00Z' };

describe('streams of units', { timeout: 60_000 }, () => {
  const stack = new AsyncDisposableStack();
  const home = stack.use(temporaryDirectory('home'));
  let units: UnitServer;
  const environment = (): Record<string, string> => ({ HOME: home.path, KUBECONFIG: units.server.kubeconfig });
  const capstan = (args: readonly string[], input = '') =>
    run(process.execPath, [capstanProgram, ...args], { environment: environment(), directory: home.path, input, timeout: 90_000 });
  const start = (...args: string[]): Child =>
    new Child(`capstan ${args[0]}`, [process.execPath, capstanProgram, ...args], { environment: environment(), directory: home.path });

  beforeAll(async () => {
    units = stack.use(await startUnitServer());
    await units.unit('web', running, { ports: [{ name: 'http', port: 80 }] });
    await units.unit('terminal', running, { tty: true });
    await units.unit('done', { phase: 'Failed', exitCode: 3, message: 'killed: out of memory' });
  });
  afterAll(() => stack.disposeAsync());

  test('ps lists what runs, and everything with --all', async () => {
    const [heading, ...rows] = (await capstan(['ps'])).stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^NAME +PHASE +RESOURCES +NODE /);
    expect(rows.sort()).toEqual([expect.stringMatching(/^terminal +Running +small +n1 /), expect.stringMatching(/^web +Running/)]);
    const all = await capstan(['ps', '--all', '-o', 'wide']);
    expect(all.stdout).toMatch(/^done +Failed +small +- +3 .*killed: out of memory$/m);
    const names = (await capstan(['ps', '-o', 'name'])).stdout.trimEnd().split('\n');
    expect(names.sort()).toEqual(['gpuunit.compute.capstan.dev/terminal', 'gpuunit.compute.capstan.dev/web']);
    expect(JSON.parse((await capstan(['ps', '-o', 'json'])).stdout)).toMatchObject({ kind: 'List', items: [{}, {}] });
  });

  test('shell passes input, both outputs and the exit code', async () => {
    const { code, stdout, stderr } = await capstan(['shell', 'web', '--', 'sh', '-c', 'cat; echo warning >&2; exit 7'], 'hello');
    expect([code, stdout, stderr]).toEqual([7, 'hello', 'warning\n']);
    const large = randomBytes(3_000_000).toString('base64');
    expect(await capstan(['shell', 'web', '--', 'cat'], large)).toEqual({ code: 0, stdout: large, stderr: '' });
  });

  test('shell without a command runs one that the unit has', async () => {
    expect(await capstan(['shell', 'web'], 'echo $((6*7)); exit 3\n')).toMatchObject({ code: 3, stdout: '42\n' });
  });

  test('shell says what is wrong', async () => {
    expect(await capstan(['shell', 'nobody'])).toMatchObject({
      code: 2,
      stderr: 'capstan: there is no unit nobody here; "capstan ps --all" lists all.\n',
    });
    const ended = await capstan(['shell', 'done']);
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining('done does not run: Failed: killed: out of memory. Start it with "capstan start done"'),
    ]);
    expect((await capstan(['shell', 'web', '--', 'no-such-program'])).stderr).toContain('ENOENT');
  });

  test('a terminal is raw, has a size, and is restored', async () => {
    const line = `stty rows 33 cols 101; ${process.execPath} ${capstanProgram} shell -t web -- top; stty -a | grep -o ".icanon"`;
    const input = `(for try in $(seq 200); do grep -q size ${home.join('seen')} && break; sleep 0.1; done; echo exit)`;
    const { stdout } = await run(
      'bash',
      ['-c', `touch ${home.join('seen')}; ${input} | script -qec '${line}' /dev/null | tee ${home.join('seen')}`],
      {
        environment: environment(),
        timeout: 30_000,
      },
    );
    expect(stdout).toContain('size {"Width":101,"Height":33}');
    expect(stdout).toMatch(/got "exit(\\r|\\n)"/);
    expect(stdout.trim().split('\n').at(-1)).toBe(' icanon');
  });

  test('attach reaches the program, and Ctrl-] leaves it', async () => {
    expect(await capstan(['attach', 'web'], 'exit\n')).toMatchObject({ code: 0, stdout: expect.stringContaining('got "exit\\n"') });
    const line = `${process.execPath} ${capstanProgram} attach terminal`;
    const input = `(for try in $(seq 200); do grep -q welcome ${home.join('attached')} && break; sleep 0.1; done; printf "\\035")`;
    const { stdout } = await run(
      'bash',
      ['-c', `touch ${home.join('attached')}; ${input} | script -qec '${line}' /dev/null | tee ${home.join('attached')}`],
      {
        environment: environment(),
        timeout: 30_000,
      },
    );
    expect(stdout).toContain('Left. terminal goes on.');
  });

  test('cp copies files and folders in both directions', async () => {
    const bytes = randomBytes(3_000_000);
    mkdirSync(join(home.path, 'tree/inner'), { recursive: true });
    writeFileSync(join(home.path, 'tree/inner/data'), bytes);
    symlinkSync('inner/data', join(home.path, 'tree/link'));
    writeFileSync(join(home.path, 'tree/-strange\nname'), 'x');
    expect(await capstan(['cp', 'tree', 'web:copied'])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(units.inside, 'copied/inner/data')).equals(bytes)).toBe(true);
    expect(readlinkSync(join(units.inside, 'copied/link'))).toBe('inner/data');
    // Into a folder that exists.
    expect(await capstan(['cp', 'tree', 'web:copied'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(units.inside, 'copied/tree/-strange\nname'), 'utf8')).toBe('x');
    expect(await capstan(['cp', 'web:copied/tree', 'back'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(home.path, 'back/inner/data')).equals(bytes)).toBe(true);
    expect(await capstan(['cp', 'web:copied/inner/data', '.'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(home.path, 'data')).equals(bytes)).toBe(true);
    const missing = await capstan(['cp', 'web:nothing', '.']);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/it could not be copied: .*nothing/)]);
    expect(await capstan(['cp', 'a', 'b'])).toMatchObject({ code: 2, stderr: expect.stringContaining('one path here and one in a unit') });
    symlinkSync('/etc', join(units.inside, 'copied/out'));
    const warned = await capstan(['cp', 'web:copied', 'again']);
    expect([warned.code, warned.stderr]).toEqual([0, expect.stringContaining('Not copied: copied/out: it leads out of the folder')]);
  });

  test('cp goes on where the connection was cut, in both directions', async () => {
    const bytes = randomBytes(8_000_000);
    mkdirSync(home.join('cut'));
    for (const [name, content] of [
      ['a', 'before'],
      ['b', bytes],
      ['c', 'after'],
    ] as const)
      writeFileSync(home.join('cut', name), content);
    const { hostname, port } = new URL(/server: (\S+)/.exec(readFileSync(units.server.kubeconfig, 'utf8'))![1]!);
    await using line = await startCutLine({ host: hostname, port: Number(port) });
    const kubeconfig = home.join('through-the-line');
    writeFileSync(kubeconfig, readFileSync(units.server.kubeconfig, 'utf8').replaceAll(`:${port}`, `:${line.port}`));
    const copy = async (...args: string[]): Promise<void> => {
      line.cutAfter(6_000_000);
      const { code, stderr } = await capstan(['cp', '--kubeconfig', kubeconfig, ...args]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('Going on where it broke')]);
      // From the start, it would be 14 MB.
      expect(line.carried()).toBeLessThan(12_000_000);
    };
    await copy('cut', 'web:arrived');
    expect(readFileSync(join(units.inside, 'arrived/b')).equals(bytes)).toBe(true);
    expect(readFileSync(join(units.inside, 'arrived/c'), 'utf8')).toBe('after');
    const modified = (path: string): number => Math.floor(statSync(path).mtimeMs / 1000);
    expect(modified(join(units.inside, 'arrived/b'))).toBe(modified(home.join('cut/b')));
    await copy('web:arrived', 'returned');
    for (const name of ['a', 'b', 'c']) expect(readFileSync(home.join('returned', name))).toEqual(readFileSync(home.join('cut', name)));
  }, 180_000);

  test('cp --continue goes on with a copy of an earlier command, and sends a file again whose start differs', async () => {
    const bytes = randomBytes(2_000_000);
    writeFileSync(home.join('big'), bytes);
    for (const start of [bytes.subarray(0, 1_200_000), randomBytes(1_200_000)]) {
      writeFileSync(join(units.inside, 'big'), start);
      expect(await capstan(['cp', '--continue', 'big', 'web:big'])).toMatchObject({ code: 0 });
      expect(readFileSync(join(units.inside, 'big')).equals(bytes)).toBe(true);
      writeFileSync(home.join('fetched'), start);
      expect(await capstan(['cp', '--continue', 'web:big', 'fetched'])).toMatchObject({ code: 0 });
      expect(readFileSync(home.join('fetched')).equals(bytes)).toBe(true);
    }
  });

  test('port-forward serves several connections, and goes on after the server was restarted', async () => {
    const backend = createServer((request, response) => void response.end(`page ${request.url}`));
    await once(backend.listen(0, '127.0.0.1'), 'listening');
    const { port } = backend.address() as AddressInfo;
    await using forwarding = start('port-forward', 'web', `:${port}`, ':1');
    await forwarding.waitUntil('forwards', () => / -> 1\n/.test(forwarding.output));
    const local = new Map([...forwarding.output.matchAll(/127.0.0.1:(\d+) -> (\d+)/g)].map(([, from, to]) => [to, from]));
    const page = async (name: string): Promise<string> => (await fetch(`http://127.0.0.1:${local.get(String(port))}/${name}`)).text();
    expect(await Promise.all(['a', 'b', 'c'].map(page))).toEqual(['page /a', 'page /b', 'page /c']);
    await expect(fetch(`http://127.0.0.1:${local.get('1')}/`)).rejects.toThrow();
    await forwarding.waitUntil('complains', () => forwarding.output.includes('ECONNREFUSED'));
    await units.server.restart();
    expect(await page('again')).toBe('page /again');
    await forwarding.stop();
    backend.close();
  });

  test('logs are printed, cut, and followed across a restart of the server', async () => {
    expect((await capstan(['logs', 'web'])).stdout).toBe('first line\nsecond line\n');
    expect((await capstan(['logs', 'web', '--tail', '1'])).stdout).toBe('second line\n');
    await using following = start('logs', '-f', '--tail', '1', 'web');
    await following.waitUntil('follows', () => units.kubelet.followers === 1);
    units.kubelet.log('2026-01-01T00:00:01Z third\n2026-01-01T00:00:02.5Z to');
    await following.waitUntil('shows the line', () => following.output.includes('third\nto'));
    await units.server.restart();
    await following.waitUntil('is connected again', () => following.output.includes('Connected again.') && units.kubelet.followers === 1);
    units.kubelet.log('2026-01-01T00:00:02.5Z torn\n2026-01-01T00:00:03Z last\n');
    await following.waitUntil('shows the rest', () => following.output.includes('last\n'));
    expect(following.output).toMatch(/third\nto.*Connected again\.\n.*\nrn\nlast\n$/s);
    expect(following.output.match(/third|torn|last/g)).toEqual(['third', 'last']);
    units.kubelet.endLogs();
    await following.stop();
  });

  test('wait reports the exit code, a state, and a timeout', async () => {
    expect(await capstan(['wait', 'done'])).toMatchObject({ code: 3 });
    expect(await capstan(['wait', 'web', '--for', 'running'])).toMatchObject({ code: 0 });
    expect(await capstan(['wait', 'done', '--for', 'running'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('killed: out of memory'),
    });
    expect(await capstan(['wait', 'web', '--timeout', '1'])).toMatchObject({ code: 124 });
  });

  test('rm refuses what runs', async () => {
    expect(await capstan(['rm', 'web'])).toMatchObject({ code: 2, stderr: expect.stringContaining('capstan rm --force web') });
    expect(await capstan(['rm', 'done'])).toMatchObject({ code: 0, stdout: 'done: deleted\n' });
  });

  test('a reader that has seen enough does not lead to an error', async () => {
    const piped = await run('bash', ['-c', `${process.execPath} ${capstanProgram} shell web -- yes | head -1`], {
      environment: environment(),
      timeout: 30_000,
    });
    expect(piped).toEqual({ code: 0, stdout: 'y\n', stderr: '' });
  });

  test('a stream that is lost says so', async () => {
    // The kubelet may not have noticed yet that the client before has left.
    await expect.poll(() => units.kubelet.upgraded).toBe(0);
    await using shell = start('shell', 'web', '--', 'sleep', '100');
    for (let tries = 0; units.kubelet.upgraded === 0 && tries < 200; tries++) await sleep(50);
    await units.server.restart();
    expect((await shell.exited).code).toBe(1);
    expect(shell.output).toContain('the connection to web was lost');
  });
});

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectedStreams, streamChecks } from '../support/stream-probe.ts';
import { resized, saySizes } from '../support/terminal.ts';

const patience = { timeout: 60_000, interval: 200 };

await describeWith(['clientgo-probe', 'kubectl'], 'streams through the tunnel of a node agent', ({ 'clientgo-probe': probe, kubectl }) => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('streams'));
  const data = directory.join('data');
  const environment = { HOME: directory.path, KUBECONFIG: `${data}/admin.kubeconfig` };
  const work = directory.join('work');
  const capstan = (...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: work, timeout: 60_000 });

  beforeAll(async () => {
    await buildCapstan();
    // Units do not see the home of whoever runs the agent, so it is uploaded.
    mkdirSync(work);
    copyFileSync(probe, `${work}/probe`);
    const args = ['up', '--data-dir', data, '--port', String(await freePort())];
    const up = new Child('capstan up', [process.execPath, capstanProgram, ...args], { environment });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    await vi.waitFor(async () => expect((await capstan('node', 'list')).stdout).toMatch(/\sReady\s/), patience);
    await vi.waitFor(async () => expect((await capstan('ws', 'use', 'root:main:default')).code).toBe(0), patience);
    expect(await capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan('offering', 'list')).stdout).toContain('small'), patience);
    // Its files are a file system of their own, which the agent removes with it.
    stack.defer(async () => expect(await capstan('rm', '--force', 'echo')).toMatchObject({ code: 0 }));
    const unit = ['--network', 'none', '-d', '--name', 'echo', '--', './probe', '-serve', '9000'];
    expect(await capstan('run', ...unit)).toMatchObject({ code: 0 });
    expect(await capstan('wait', 'echo', '--for', 'running')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan('logs', 'echo')).stdout).toBe('ready\n'), patience);
  });
  afterAll(() => stack.disposeAsync());

  test('of client-go pass every check', async () => {
    const kubeconfig = `${data}/admin.kubeconfig`;
    const checks = await streamChecks([probe], ['-kubeconfig', kubeconfig, '-stream', 'echo', '-container', 'unit']);
    expect(checks).toEqual(expectedStreams());
  }, 120_000);

  describe('of kubectl', { timeout: 120_000 }, () => {
    const command = (...args: string[]): readonly [string, ...string[]] => [kubectl, ...args];
    const call = (args: readonly string[], { input = '', ...more } = {}) =>
      run(kubectl, args, { input, environment: { ...environment, ...more }, directory: work, timeout: 60_000 });

    test.each([
      ['WebSocket', {}],
      ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' }],
    ])('exec over %s passes input, both outputs and the exit code', async (_, transport) => {
      const { code, stdout, stderr } = await call(['exec', '-i', 'echo', '--', 'sh', '-c', 'cat; echo warning >&2; exit 7'], {
        input: 'hello',
        ...transport,
      });
      expect([code, stdout, stderr]).toEqual([7, 'hello', expect.stringContaining('warning\n')]);
    });

    test('exec -it has a terminal, also one whose size changes', async () => {
      const { code, stdout } = await resized(command('exec', '-it', 'echo', '--', 'sh', '-c', saySizes), { directory, environment });
      expect([code, stdout]).toEqual([5, expect.stringMatching(/it is 33 101\r\n.*it is 44 120\r\n/s)]);
    });

    test('attach reaches the program, and logs -f follows what it says', async () => {
      await using following = new Child('kubectl logs', command('logs', '-f', '--tail=1', 'echo'), { environment });
      await following.waitUntil('shows the last line', () => following.output !== '');
      const attach = ['bash', '-c', 'exec "$@" < <(echo once more)', 'bash', ...command('attach', '-i', 'echo')];
      await using attached = new Child('kubectl attach', attach, { environment });
      await attached.waitUntil('shows the answer', () => attached.output.includes('got once more\n'));
      await following.waitUntil('shows the answer', () => following.output.endsWith('got once more\n'));
    });

    test('cp copies in both directions', async () => {
      const bytes = randomBytes(1_000_000);
      writeFileSync(`${work}/sent`, bytes);
      expect(await call(['cp', 'sent', 'echo:copied'])).toMatchObject({ code: 0 });
      expect(await call(['cp', 'echo:copied', 'returned'])).toMatchObject({ code: 0 });
      expect(readFileSync(`${work}/returned`).equals(bytes)).toBe(true);
    });

    test('port-forward reaches a port', async () => {
      await using forwarding = new Child('kubectl port-forward', command('port-forward', 'pod/echo', ':9000'), { environment });
      await forwarding.waitUntil('it forwards', () => forwarding.output.includes('Forwarding from 127.0.0.1'));
      const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(forwarding.output)![1]), '127.0.0.1');
      socket.write('hello');
      expect(String((await once(socket, 'data'))[0])).toBe('hello');
      socket.destroy();
    });
  });
});

import { newObject, nodeScriptKind } from '@capstan/api';
import { buildCapstan, Child, type CommandResult, capstanProgram, freePort, requireTool, run, temporaryDirectory } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { emulateArm64, emulationProblem, fillWithArm64 } from './arm64-machine.ts';
import { BareMachine } from './bare-machine.ts';

await buildCapstan();

/** An emulated machine is slow. */
const patience = { timeout: 240_000, interval: 500 };

/** Every program of the machine is one for arm64, its shell too; the kernel is that of this machine. */
describeUnless((await BareMachine.problem()) ?? (await emulationProblem()), 'the agent on an emulated machine with arm64', () => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('arm64'));
  const data = directory.join('data');
  let machine: BareMachine;
  let port: number;

  const capstan = (...args: string[]): Promise<CommandResult> => {
    const [program, ...rest] = machine.besideServer(process.execPath, capstanProgram, ...args);
    return run(program, rest, { timeout: 240_000, environment: { KUBECONFIG: `${data}/admin.kubeconfig` } });
  };
  const task = async (type: string, ...settings: string[]): Promise<string> => {
    const { stdout, stderr } = await capstan('task', 'run', 'arm-1', type, ...settings.flatMap((one) => ['--set', one]), '--follow');
    return stdout + stderr;
  };

  const createScript = async (name: string, content: string): Promise<void> => {
    const object = newObject(nodeScriptKind, { metadata: { name }, spec: { content } });
    const place = [
      '--server',
      `https://${BareMachine.serverAddress}:${port}/clusters/root:platform`,
      '--kubeconfig',
      `${data}/admin.kubeconfig`,
    ];
    const [program, ...rest] = machine.besideServer(await requireTool('kubectl'), 'create', ...place, '--filename', '-');
    expect(await run(program, rest, { input: JSON.stringify(object) })).toMatchObject({ code: 0 });
  };

  beforeAll(async () => {
    stack.use(await emulateArm64());
    machine = stack.use(await BareMachine.start(directory.join('root'), fillWithArm64));
    port = await freePort();
    const flags = ['--data-dir', data, '--host', '0.0.0.0', '--advertise', `${BareMachine.serverAddress}:${port}`, '--port', String(port)];
    const up = new Child('capstan up', machine.besideServer(process.execPath, capstanProgram, 'up', '--no-node', ...flags));
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'), patience.timeout);
    // It fetches Node for arm64, which the network of the server does not reach.
    const archive = ['node', 'archive', '--arch', 'arm64', '--data-dir', data];
    expect(await run(process.execPath, [capstanProgram, ...archive], { timeout: 300_000 })).toMatchObject({ code: 0 });
  }, 900_000);
  afterAll(() => stack.disposeAsync());

  test('joins with the printed command, shows that it is alive, and runs tasks', { timeout: 900_000 }, async () => {
    expect((await machine.run('uname -m')).stdout).toBe('aarch64\n');
    let command = '';
    await vi.waitFor(async () => {
      const { code, stdout } = await capstan('node', 'enroll', 'arm-1');
      expect(code).toBe(0);
      command = stdout.trim();
    }, patience);
    const joined = await machine.run(`export CAPSTAN_TRIAL_SECONDS=60; ${command}`, { timeout: 600_000 });
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringMatching(/for linux-arm64, [\s\S]*the agent runs in the background/) });
    await vi.waitFor(
      async () => expect((await capstan('node', 'list')).stdout).toMatch(/^arm-1\s+Ready\s.*0\.1\.0\+[0-9a-f]{12}$/m),
      patience,
    );
    expect((await capstan('node', 'show', 'arm-1')).stdout).toMatch(/System:.*arm64/);
    expect(await task('gpu.inspect')).toContain('Succeeded');
    await createScript('greet', '#!/bin/sh\necho "Hello, $1, from $(uname -m)."\n');
    expect(await task('process.run', 'script=greet', 'arguments=["you"]')).toContain('Hello, you, from aarch64.');
  });
});

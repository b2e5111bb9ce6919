import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type GPUNode, gpuNodeKind, type NodeScript, type NodeTask, nodeNamespace, nodeScriptKind, nodeTaskKind } from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { buildCapstan, Child, type CommandResult, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

await buildCapstan();

const patience = { timeout: 60_000, interval: 100 };

/** One `capstan up` for all tests, with the node that it makes of this machine. */
describe('tasks on the node of capstan up', { timeout: 120_000 }, () => {
  const directory = temporaryDirectory('node-tasks');
  const data = directory.join('data');
  const kubeconfig = `${data}/admin.kubeconfig`;
  let up: Child;
  let client: Client;
  let node: string;

  const capstan = (...args: string[]): Promise<CommandResult> =>
    run(process.execPath, [capstanProgram, ...args, '--kubeconfig', kubeconfig], { timeout: 60_000 });
  const pidOf = async (name: string): Promise<number> => {
    const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '-o', 'json'], { timeout: 30_000 });
    const { processes } = JSON.parse(stdout) as { processes: { name: string; pid?: number; phase: string }[] };
    const { pid, phase } = processes.find((one) => one.name === name)!;
    if (pid === undefined || phase !== 'ready') throw new Error(`${name} is ${phase}`);
    return pid;
  };
  const createScript = async (name: string, content: string): Promise<void> => {
    const apiVersion = `${nodeScriptKind.group}/${nodeScriptKind.version}`;
    const object: NodeScript = { apiVersion, kind: nodeScriptKind.kind, metadata: { name }, spec: { content: `#!/bin/sh\n${content}\n` } };
    await client.resource<NodeScript>(nodeScriptKind).create(object);
  };
  /** A script that marks its start, waits for a file, and ends. */
  const waiting = async (name: string): Promise<{ begun: string; go: () => void }> => {
    const [begun, gate] = [directory.join(`${name}.begun`), directory.join(`${name}.go`)];
    await createScript(name, `echo x >> ${begun}; echo one; while [ ! -e ${gate} ]; do sleep 0.05; done; echo two`);
    return { begun, go: () => writeFileSync(gate, '') };
  };
  const runTask = async (name: string): Promise<void> => {
    expect(await capstan('task', 'run', node, 'process.run', '--set', `script=${name}`, '--name', name)).toMatchObject({ code: 0 });
  };
  const getTask = (name: string): Promise<NodeTask> => client.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node)).get(name);
  const phase = (name: string, expected: string): Promise<void> =>
    vi.waitFor(async () => expect((await getTask(name)).status?.phase).toBe(expected), patience);
  const processesOf = (uid: string): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`CAPSTAN_PROCESS=task-${uid}-`);
      } catch {
        return false;
      }
    });

  beforeAll(async () => {
    const gpus = directory.join('gpus.yaml');
    writeFileSync(gpus, 'gpus:\n  - { model: H200, count: 4, memory: 141Gi, linked: true }\n');
    const args = ['up', '--data-dir', data, '--port', String(await freePort()), '--gpus', gpus];
    up = new Child('capstan up', [process.execPath, capstanProgram, ...args]);
    await up.waitUntil('the node is there', () => /node-agent \| the tunnel to \S+ is open/.test(up.output));
    client = new Client(connectionOf(loadKubeconfig({ path: kubeconfig }))).cluster('root:platform');
    const { items } = await client.resource<GPUNode>(gpuNodeKind).list();
    node = items[0]!.metadata.name!;
  }, 120_000);
  afterAll(async () => {
    client?.[Symbol.dispose]();
    await up.stop();
    endProcesses(`${data}/node-agent`);
    directory[Symbol.dispose]();
  });

  test('the node shows its GPUs', async () => {
    await vi.waitFor(
      async () => expect((await capstan('node', 'list')).stdout).toMatch(new RegExp(`^${node}\\s+Ready\\s+-\\s+4×H200\\s+4 Healthy`, 'm')),
      patience,
    );
    const { stdout } = await capstan('node', 'show', node);
    expect(stdout.match(/^GPU-declared-\S+\s+H200\s+141 GiB\s+-\s+nvlink-0\s.*Healthy$/gm)).toHaveLength(4);
    expect(JSON.parse((await capstan('node', 'show', node, '-o', 'json')).stdout)).toMatchObject({ kind: 'GPUNode' });
  });

  test('a task sends its output while it runs, and its end is that of the command', async () => {
    const { go } = await waiting('live');
    await runTask('live');
    await using following = new Child('logs', [process.execPath, capstanProgram, 'task', 'logs', 'live', '-f', '--kubeconfig', kubeconfig]);
    await following.waitUntil('the first line', () => following.output.includes('one'));
    expect(following.output).not.toContain('two');
    go();
    expect(await following.exited).toMatchObject({ code: 0 });
    expect(following.output).toContain('one\ntwo\n');
    expect((await capstan('task', 'list')).stdout).toMatch(/live\s+process.run\s+Succeeded\s+0/);
    expect((await capstan('task', 'logs', 'live', '--tail', '1')).stdout).toBe('two\n');
  });

  test('an agent that is killed finds its task again, which ran once', async () => {
    const { begun, go } = await waiting('orphan');
    await runTask('orphan');
    await vi.waitFor(() => expect(existsSync(begun)).toBe(true), patience);
    const agent = await pidOf('node-agent');
    process.kill(agent, 'SIGKILL');
    await vi.waitFor(async () => expect(await pidOf('node-agent')).not.toBe(agent), patience);
    await vi.waitFor(async () => expect((await capstan('task', 'logs', 'orphan')).stdout).toBe('one\n'), patience);
    expect((await getTask('orphan')).status?.phase).toBe('Running');
    go();
    await phase('orphan', 'Succeeded');
    expect(readFileSync(begun, 'utf8')).toBe('x\n');
  });

  test('the output of a deleted task is complete, although its agent was killed while it printed', async () => {
    await createScript('printing', 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i"; sleep 0.02; done');
    await runTask('printing');
    const stored = (): string =>
      globSync(`${data}/logs/node:*/tasks/printing/*/1/*.log`)
        .map((file) => readFileSync(file, 'utf8'))
        .join('');
    await vi.waitFor(() => expect(stored()).toContain('line 2\n'), patience);
    process.kill(await pidOf('node-agent'), 'SIGKILL');
    await phase('printing', 'Succeeded');
    await client.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node)).delete('printing');
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join('');
    await vi.waitFor(async () => expect((await capstan('task', 'logs', 'printing', '--node', node)).stdout).toBe(lines), patience);
    expect(await capstan('task', 'logs', 'printing')).toMatchObject({ code: 2, stderr: expect.stringContaining('--node NODE') });
  });

  test('cancelling ends everything that the task started, and a retry runs it again', async () => {
    await createScript('tree', 'sleep 600 & setsid sleep 600 & echo started; wait');
    await runTask('tree');
    await vi.waitFor(async () => expect((await capstan('task', 'logs', 'tree')).stdout).toBe('started\n'), patience);
    const { uid = '' } = (await getTask('tree')).metadata;
    expect(processesOf(uid).length).toBeGreaterThan(2);
    expect(await capstan('task', 'retry', 'tree')).toMatchObject({ code: 2, stderr: expect.stringContaining('has not ended') });
    expect(await capstan('task', 'cancel', 'tree')).toMatchObject({ code: 0 });
    await phase('tree', 'Cancelled');
    expect(processesOf(uid)).toEqual([]);
    expect(await capstan('task', 'retry', 'tree')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await getTask('tree')).status).toMatchObject({ phase: 'Running', attempt: 2 }), patience);
    expect(await capstan('task', 'cancel', 'tree')).toMatchObject({ code: 0 });
    await phase('tree', 'Cancelled');
  });

  test('a task that ends while the server is down is reported when it is back', async () => {
    const { begun, go } = await waiting('offline');
    await runTask('offline');
    await vi.waitFor(() => expect(existsSync(begun)).toBe(true), patience);
    const server = await pidOf('apiserver');
    process.kill(server, 'SIGKILL');
    go();
    await vi.waitFor(async () => expect(await pidOf('apiserver')).not.toBe(server), patience);
    await phase('offline', 'Succeeded');
    expect(readFileSync(begun, 'utf8')).toBe('x\n');
    await vi.waitFor(async () => expect((await capstan('task', 'logs', 'offline')).stdout).toBe('one\ntwo\n'), patience);
  });

  test('the command explains what is wrong', async () => {
    expect(await capstan('task', 'show', 'nobody')).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no task nobody') });
    expect(await capstan('task', 'run', 'nobody', 'gpu.inspect')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no node'),
    });
    expect(await capstan('task', 'run', node, 'dance')).toMatchObject({ code: 2, stderr: expect.stringContaining('gpu.inspect') });
    const inspected = await capstan('task', 'run', node, 'gpu.inspect', '--follow');
    expect(inspected).toMatchObject({ code: 0, stdout: expect.stringMatching(/H200: Healthy[\s\S]*Succeeded\n$/) });
  });
});

/** Processes of tasks outlive the agent, so those of a test that failed are ended here. */
function endProcesses(state: string): void {
  for (const file of globSync('**/processes/*/pid', { cwd: state })) {
    try {
      process.kill(-Number(readFileSync(`${state}/${file}`, 'utf8')), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

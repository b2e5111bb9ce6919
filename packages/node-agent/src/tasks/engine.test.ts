import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeTask, NodeTaskStatus } from '@capstan/api';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { processesOf } from '../processes/proc.ts';
import { Supervisor } from '../processes/supervisor.ts';
import type { Moment } from '../time/moment.ts';
import { keyOf, TaskEngine } from './engine.ts';
import { Journal } from './journal.ts';
import { TaskOutput } from './output.ts';
import type { TaskSecrets } from './secrets.ts';
import type { TaskRequest, TaskType } from './task-type.ts';
import { collectLogs } from './types/collect-logs.ts';
import { fileWrite } from './types/file-write.ts';
import { probeCommand } from './types/probe-command.ts';
import { probeHttp, probeTcp } from './types/probes.ts';
import { processRun } from './types/process-run.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-tasks-'));
afterAll(() => rmSync(directory, { recursive: true }));

const catalog = { find: async (name: string) => (existsSync(join(directory, name)) ? join(directory, name) : undefined) };
function script(name: string, text: string): string {
  writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(directory, name), 0o755);
  return name;
}

let count = 0;
let state: string;
const started = { wall: Date.UTC(2030, 0, 1), boot: 'boot', uptime: 1_000 };
let clock: Moment = started;
beforeEach(() => {
  state = join(directory, `agent-${count++}`);
  clock = started;
});

const inspecting = { name: 'gpu.inspect', field: 'gpuInspect', afterCrash: 'rerun' } as const;

interface Agent extends AsyncDisposable {
  readonly engine: TaskEngine;
  readonly reports: NodeTaskStatus[];
  readonly outputs: TaskOutput;
}

interface More {
  readonly concurrency?: number;
  readonly types?: readonly TaskType[];
  readonly online?: () => boolean;
  readonly claim?: () => Promise<'claimed' | 'taken'>;
  readonly onError?: (error: unknown) => void;
  readonly secrets?: TaskSecrets;
  /** Whether the disk is full. */
  readonly full?: () => boolean;
}

/** An agent on the state directory of this test; a second one is the same agent after a restart. */
async function startAgent(more: More = {}): Promise<Agent> {
  const outputs = new TaskOutput({ directory: join(state, 'output'), limit: 10_000 });
  const journal = await Journal.open(join(state, 'journal'));
  const reports: NodeTaskStatus[] = [];
  const engine = new TaskEngine({
    journal: limited(journal, more.full),
    journalRetry: 20,
    types: [fileWrite, processRun(catalog), probeHttp, probeTcp, probeCommand(catalog), collectLogs, ...(more.types ?? [])],
    processes: new Supervisor({ directory: join(directory, 'processes'), groups: undefined }),
    outputs,
    report: async (_request, status, signal) => {
      while (more.online?.() === false) await sleep(10, undefined, { signal });
      reports.push(status);
    },
    ...(more.concurrency !== undefined && { concurrency: more.concurrency }),
    now: async () => clock,
    onError: more.onError ?? ((error) => expect.fail(String(error))),
    ...(more.claim && { claim: more.claim }),
    ...(more.secrets && { secrets: more.secrets }),
  });
  engine.resume();
  return {
    engine,
    reports,
    outputs,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await journal[Symbol.asyncDispose]();
    },
  };
}

function limited(journal: Journal, full: More['full'] = () => false): Pick<Journal, 'append' | 'records'> {
  return {
    get records() {
      return journal.records;
    },
    append: async (entry) => {
      if (full()) throw new Error('no space left on device');
      await journal.append(entry);
    },
  };
}

function request(spec: Partial<NodeTask['spec']> & Pick<NodeTask['spec'], 'type'>): TaskRequest {
  return {
    uid: `uid-${count}`,
    name: 'task',
    attempt: spec.attempt ?? 1,
    spec: { deadline: '10m', attempt: 1, cancelled: false, ...spec },
  };
}

async function until<Value>(look: () => Value | undefined | false): Promise<Value> {
  for (;;) {
    const value = look();
    if (value !== undefined && value !== false) return value;
    await sleep(10);
  }
}
const outcome = ({ reports }: Agent): Promise<NodeTaskStatus> => until(() => reports.find(({ finishedAt }) => finishedAt !== undefined));

describe('the life of a task', () => {
  test('runs, reports and keeps its output', async () => {
    await using agent = await startAgent();
    const wanted = request({
      type: 'process.run',
      processRun: { script: script('greet', 'echo hello $1 $NAME'), arguments: ['dear'], environment: { NAME: 'node' } },
    });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded', exitCode: 0, attempt: 1, startedAt: '2030-01-01T00:00:00.000Z' });
    expect(agent.reports[0]).toMatchObject({ phase: 'Running' });
    expect(readFileSync(agent.outputs.file(keyOf(wanted)), 'utf8')).toBe('hello dear node\n');
  });

  test('is not run again, but reported again', async () => {
    await using agent = await startAgent();
    const wanted = request({ type: 'process.run', processRun: { script: script('append', `echo x >> ${directory}/appended`) } });
    await agent.engine.accept(wanted);
    await outcome(agent);
    await agent.engine.accept(wanted);
    expect(agent.reports.filter(({ phase }) => phase === 'Succeeded')).toHaveLength(2);
    expect(readFileSync(join(directory, 'appended'), 'utf8')).toBe('x\n');
  });

  test('a failing command is named with its exit code', async () => {
    await using agent = await startAgent();
    await agent.engine.accept(request({ type: 'process.run', processRun: { script: script('fail', 'exit 7') } }));
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', exitCode: 7, error: { code: 'CommandFailed', retryable: true } });
  });

  test('the deadline ends it', async () => {
    await using agent = await startAgent();
    const wanted = request({ type: 'process.run', deadline: '100ms', processRun: { script: script('sleep', 'sleep 600 & sleep 600') } });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', error: { code: 'DeadlineExceeded', message: 'not done within 100ms' } });
    expect(await processesOf(keyOf(wanted), undefined)).toEqual([]);
  });

  test('the deadline ends it also while it looks whether there is anything to do, and cancelling does', async () => {
    const stuck: TaskType = { ...inspecting, check: () => new Promise(() => {}), run: async () => ({}) };
    await using agent = await startAgent({ types: [stuck] });
    const wanted = request({ type: 'gpu.inspect', deadline: '100ms', gpuInspect: { deep: false } });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', error: { code: 'DeadlineExceeded' } });
    await agent.engine.accept({ ...wanted, attempt: 2, spec: { ...wanted.spec, deadline: '1h', cancelled: true } });
    await until(() => agent.reports.some(({ phase }) => phase === 'Cancelled'));
  });

  test('cancelling kills everything that it started', async () => {
    await using agent = await startAgent();
    const wanted = request({ type: 'process.run', processRun: { script: script('tree', 'sleep 600 & sleep 600 & wait') } });
    await agent.engine.accept(wanted);
    await until(() => agent.reports.length > 0);
    await agent.engine.accept({ ...wanted, spec: { ...wanted.spec, cancelled: true } });
    expect(await outcome(agent)).toMatchObject({ phase: 'Cancelled' });
    expect(await processesOf(keyOf(wanted), undefined)).toEqual([]);
  });

  test('nothing happens before the control plane knows that it runs', async () => {
    let online = false;
    await using agent = await startAgent({ online: () => online });
    const target = join(directory, 'not-yet');
    await agent.engine.accept(request({ type: 'file.write', fileWrite: { path: target, content: 'x', mode: '0644' } }));
    await sleep(100);
    expect(existsSync(target)).toBe(false);
    online = true;
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(target, 'utf8')).toBe('x');
  });

  test('is left alone if another machine with the same identity has begun it', async () => {
    await using agent = await startAgent({ claim: async () => 'taken' });
    const target = join(directory, 'taken');
    await agent.engine.accept(request({ type: 'file.write', fileWrite: { path: target, content: 'x', mode: '0644' } }));
    expect(await outcome(agent)).toMatchObject({ phase: 'Unknown', claim: expect.any(String), error: { code: 'Interrupted' } });
    expect(existsSync(target)).toBe(false);
  });

  test('waits while the journal cannot be written, and its status says why', async () => {
    const errors: unknown[] = [];
    let full = true;
    await using agent = await startAgent({ full: () => full, onError: (error) => void errors.push(error) });
    const [target, gate] = [join(directory, 'waited'), join(directory, 'waited-gate')];
    const wanted = request({
      type: 'process.run',
      processRun: { script: script('waits', `echo x >> ${target}; while [ ! -e ${gate} ]; do sleep 0.02; done`) },
    });
    const accepted = agent.engine.accept(wanted);
    const step = expect.stringContaining('no space left on device');
    expect(await until(() => agent.reports.at(-1))).toEqual({ phase: 'Pending', attempt: 1, step });
    expect(existsSync(target)).toBe(false);
    full = false;
    await accepted;
    await until(() => existsSync(target));
    full = true;
    writeFileSync(gate, '');
    const waiting = await until(() => agent.reports.find((status) => status.phase === 'Running' && status.step?.startsWith('waiting')));
    expect(waiting).toMatchObject({ step, startedAt: '2030-01-01T00:00:00.000Z' });
    full = false;
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(target, 'utf8')).toBe('x\n');
    expect(errors).toHaveLength(2);
  });

  test('that is deleted while it waits for the journal is not run', async () => {
    let full = true;
    await using agent = await startAgent({ full: () => full, onError: () => {} });
    const target = join(directory, 'deleted');
    const wanted = request({ type: 'file.write', fileWrite: { path: target, content: 'x', mode: '0644' } });
    const accepted = agent.engine.accept(wanted).catch((error: unknown) => error);
    await until(() => agent.reports.length > 0);
    const removed = agent.engine.remove(wanted.uid);
    full = false;
    await Promise.all([accepted, removed]);
    expect(agent.engine.isOpen(keyOf(wanted))).toBe(false);
    expect(existsSync(target)).toBe(false);
  });

  test('a task that an older agent does not know', async () => {
    await using agent = await startAgent();
    await agent.engine.accept(request({ type: 'node.clean' }));
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', error: { code: 'UnknownType', userFixable: true, retryable: false } });
  });
});

test('a task that waits for others says for which, and cleaning does not wait for them', async () => {
  const gate = Promise.withResolvers<object>();
  const long: TaskType = { ...inspecting, check: async () => false, run: () => gate.promise };
  const clean: TaskType = { ...long, name: 'node.clean', field: 'nodeClean', hasOwnPlace: true, run: async () => ({}) };
  await using agent = await startAgent({ types: [long, clean], concurrency: 1 });
  const inspect = (name: string) =>
    agent.engine.accept({ ...request({ type: 'gpu.inspect', gpuInspect: { deep: false } }), uid: name, name });
  await inspect('first');
  await until(() => agent.reports.some(({ phase }) => phase === 'Running'));
  await inspect('second');
  const waiting = await until(() => agent.reports.find(({ step }) => step));
  expect(waiting).toEqual({ phase: 'Pending', attempt: 1, step: 'waiting for the task first' });
  await agent.engine.accept(request({ type: 'node.clean', nodeClean: { allocation: 'a' } }));
  expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
  gate.resolve({});
  await until(() => agent.reports.filter(({ phase }) => phase === 'Succeeded').length === 3);
});

describe('an agent that restarts', () => {
  test('finds the process of its task again', async () => {
    const wanted = request({
      type: 'process.run',
      processRun: {
        script: script('slow', `echo begun >> ${directory}/begun; while [ ! -e ${directory}/go ]; do sleep 0.05; done; exit 5`),
      },
    });
    {
      await using agent = await startAgent();
      await agent.engine.accept(wanted);
      await until(() => existsSync(join(directory, 'begun')));
    }
    await using agent = await startAgent();
    await agent.engine.accept(wanted);
    writeFileSync(join(directory, 'go'), '');
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', exitCode: 5 });
    expect(readFileSync(join(directory, 'begun'), 'utf8')).toBe('begun\n');
  });

  test('counts the time that it was away, whatever the clock says', async () => {
    const wanted = request({ type: 'process.run', deadline: '1h', processRun: { script: script('long', 'sleep 600') } });
    {
      await using agent = await startAgent();
      await agent.engine.accept(wanted);
      await until(() => agent.reports.length > 0);
    }
    clock = { ...started, wall: 0, uptime: started.uptime + 3_600_000 };
    await using agent = await startAgent();
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', error: { code: 'DeadlineExceeded' } });
  });

  test('leaves work alone that must not be done twice', async () => {
    let runs = 0;
    const delicate: TaskType = {
      name: 'node.clean',
      field: 'nodeClean',
      afterCrash: 'ask',
      check: async () => false,
      run: (_parameters, { signal }) => {
        runs++;
        return sleep(60_000, {}, { signal });
      },
    };
    const wanted = request({ type: 'node.clean', nodeClean: { allocation: 'a' } });
    {
      await using agent = await startAgent({ types: [delicate] });
      await agent.engine.accept(wanted);
      await until(() => runs === 1);
    }
    await using agent = await startAgent({ types: [delicate] });
    expect(await outcome(agent)).toMatchObject({ phase: 'Unknown', error: { code: 'Interrupted' } });
    expect(runs).toBe(1);
  });
});

describe('secrets', () => {
  const secrets: TaskSecrets = { read: async () => ({ key: 'hunter2' }) };

  /** Everything that the agent has stored or reported. */
  function traces({ reports }: Agent): string {
    const files = [
      join(state, 'journal'),
      ...readdirSync(join(directory, 'processes'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== 'output')
        .map((entry) => join(entry.parentPath, entry.name)),
    ];
    return [JSON.stringify(reports), ...files.map((file) => readFileSync(file, 'utf8'))].join('\n');
  }

  test('reach a file, and neither the journal nor the status', async () => {
    await using agent = await startAgent({ secrets });
    const path = join(directory, 'secret-file');
    const wanted = request({
      type: 'file.write',
      secret: 's',
      fileWrite: { path, content: 'key: ${secret:key}, $${secret:key}\n', mode: '0600' },
    });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(path, 'utf8')).toBe('key: hunter2, ${secret:key}\n');
    expect(traces(agent)).toContain('${secret:key}');
    expect(traces(agent)).not.toContain('hunter2');
    await agent.engine.accept({ ...wanted, attempt: 2 });
    expect(await until(() => agent.reports.find(({ attempt, finishedAt }) => attempt === 2 && finishedAt))).toMatchObject({
      skipped: true,
    });
  });

  test('reach the environment of a script, and no file of the agent', async () => {
    await using agent = await startAgent({ secrets });
    const wanted = request({
      type: 'process.run',
      secret: 's',
      processRun: { script: script('with-secret', 'echo "$KEY" | tr a-z A-Z; exit 3'), environment: { KEY: '${secret:key}' } },
    });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', exitCode: 3 });
    expect(readFileSync(agent.outputs.file(keyOf(wanted)), 'utf8')).toBe('HUNTER2\n');
    expect(traces(agent)).not.toContain('hunter2');
  });

  test('reach the arguments of a script', async () => {
    await using agent = await startAgent({ secrets });
    const wanted = request({
      type: 'process.run',
      secret: 's',
      processRun: { script: script('with-argument', 'echo "$1"'), arguments: ['--key=${secret:key}'] },
    });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(agent.outputs.file(keyOf(wanted)), 'utf8')).toBe('--key=hunter2\n');
  });

  test('are not needed again by a process that runs', async () => {
    const wanted = request({
      type: 'process.run',
      secret: 's',
      processRun: {
        script: script('keeps-secret', `echo $KEY > ${directory}/kept; while [ ! -e ${directory}/kept-go ]; do sleep 0.05; done`),
        environment: { KEY: '${secret:key}' },
      },
    });
    {
      await using agent = await startAgent({ secrets });
      await agent.engine.accept(wanted);
      await until(() => existsSync(join(directory, 'kept')));
    }
    await using agent = await startAgent();
    writeFileSync(join(directory, 'kept-go'), '');
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
  });

  test('that are missing fail the task before it has an effect', async () => {
    await using agent = await startAgent({ secrets });
    const path = join(directory, 'no-secret');
    const content = '${secret:other}';
    await agent.engine.accept(request({ type: 'file.write', secret: 's', fileWrite: { path, content, mode: '0600' } }));
    expect(await outcome(agent)).toMatchObject({
      phase: 'Failed',
      error: { code: 'InvalidParameters', message: 'the Secret s has no key other' },
    });
    expect(existsSync(path)).toBe(false);
  });
});

describe('types', () => {
  test('file.write changes a file once', async () => {
    await using agent = await startAgent();
    const path = join(directory, 'motd');
    const wanted = request({ type: 'file.write', fileWrite: { path, content: 'welcome\n', mode: '0640' } });
    await agent.engine.accept(wanted);
    await outcome(agent);
    expect(readFileSync(path, 'utf8')).toBe('welcome\n');
    await agent.engine.accept({ ...wanted, attempt: 2 });
    expect(await until(() => agent.reports.find(({ attempt, finishedAt }) => attempt === 2 && finishedAt))).toMatchObject({
      phase: 'Succeeded',
      skipped: true,
    });
  });

  test('file.write creates the folders above the file', async () => {
    await using agent = await startAgent();
    const path = join(directory, 'one', 'two', 'file');
    await agent.engine.accept(request({ type: 'file.write', fileWrite: { path, content: 'x', mode: '0644' } }));
    expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
    expect(readFileSync(path, 'utf8')).toBe('x');
  });

  test('process.run refuses scripts outside of the catalog', async () => {
    await using agent = await startAgent();
    await agent.engine.accept(request({ type: 'process.run', processRun: { script: 'rm' } }));
    expect(await outcome(agent)).toMatchObject({ phase: 'Failed', error: { code: 'UnknownScript' } });
  });

  test.each([
    ['Succeeded', 0],
    ['Failed', 1],
  ])('process.run reports the findings of a script that has %s', async (phase, code) => {
    await using agent = await startAgent();
    const text = `echo removing; echo 'residue: /etc/rancher: not empty'; echo 'residue: cni0: is up' >&2; exit ${code}`;
    await agent.engine.accept(request({ type: 'process.run', processRun: { script: script(`finds-${code}`, text) } }));
    const report = [
      { name: '/etc/rancher', message: 'not empty' },
      { name: 'cni0', message: 'is up' },
    ];
    expect(await outcome(agent)).toMatchObject({ phase, exitCode: code, report });
  });

  test('probe.http waits for the expected answer and says why it waits', async () => {
    let code = 503;
    const server = createServer((_request, response) => response.writeHead(code).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await using agent = await startAgent();
      const { port } = server.address() as AddressInfo;
      const wanted = request({
        type: 'probe.http',
        probeHttp: { host: '127.0.0.1', port, path: '/', tls: false, status: 200, timeout: '5s', interval: '20ms' },
      });
      await agent.engine.accept(wanted);
      await until(() => existsSync(agent.outputs.file(keyOf(wanted))));
      code = 200;
      expect(await outcome(agent)).toMatchObject({ phase: 'Succeeded' });
      expect(readFileSync(agent.outputs.file(keyOf(wanted)), 'utf8')).toBe('attempt 1: expected status 200, but found 503\n');
    } finally {
      server.close();
    }
  });

  test('collect.logs reports files that it cannot read', async () => {
    writeFileSync(join(directory, 'some.log'), 'one\ntwo\nthree\n');
    await using agent = await startAgent();
    const wanted = request({ type: 'collect.logs', collectLogs: { files: [join(directory, 'some.log'), '/does/not/exist'], lines: 2 } });
    await agent.engine.accept(wanted);
    expect(await outcome(agent)).toMatchObject({
      phase: 'Succeeded',
      report: [{ name: '/does/not/exist', message: expect.stringContaining('ENOENT') }],
    });
    expect(readFileSync(agent.outputs.file(keyOf(wanted)), 'utf8')).toBe(`==> ${directory}/some.log <==\ntwo\nthree\n\n`);
  });
});

test('a torn line at the end of the journal is ignored', async () => {
  const file = join(directory, 'torn');
  {
    await using journal = await Journal.open(file);
    await journal.append({ state: 'accepted', key: 'a', request: request({ type: 'gpu.inspect' }) });
  }
  writeFileSync(file, `${readFileSync(file, 'utf8')}{"state":"done","key":"a","outc`);
  await using journal = await Journal.open(file);
  expect([...journal.records.keys()]).toEqual(['a']);
  expect(journal.records.get('a')?.outcome).toBeUndefined();
});

import {
  asAllocationId,
  type BookingEntry,
  type BookingState,
  declaredCleanAnnotation,
  type GPUNode,
  type NodeTask,
  type NodeTaskStatus,
  type NodeUnit,
} from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { cleanCondition } from './condition.ts';
import { leftovers } from './leftovers.ts';
import { givenUp, nextEntries, usedBy, withoutGivenUp } from './next-entries.ts';
import { Retries } from './retries.ts';
import { type Outcome, outcomeOf, taskFor, taskName } from './task.ts';

const entry = (name: string, state: BookingState, devices = [`${name}-gpu`]): BookingEntry => ({
  allocation: { cluster: 'c', namespace: 'default', name, uid: asAllocationId(`uid-${name}`) },
  attempt: 'first',
  state,
  devices,
  cpu: 0,
  memory: 0,
});

const failure = (message: string) => ({ code: 'NotClean', message, userFixable: false, retryable: true });
const ended = (phase: NodeTaskStatus['phase'], rest: Partial<NodeTaskStatus> = {}): NodeTaskStatus => ({
  phase,
  attempt: 1,
  finishedAt: '2031-05-06T07:08:09Z',
  ...rest,
});

function taskOf(of: BookingEntry, status?: NodeTaskStatus, { attempt = 1, isDeclared = false } = {}): NodeTask {
  const task = taskFor('n1', of);
  const annotations = isDeclared ? { [declaredCleanAnnotation]: 'true' } : {};
  return { ...task, metadata: { ...task.metadata, annotations }, spec: { ...task.spec, attempt }, ...(status && { status }) };
}

describe('the task that cleans', () => {
  it('has the same name for every try to create it, and another one for another attempt', () => {
    const one = entry('a', 'Releasing');
    expect(taskName(one)).toBe(taskName({ ...one, state: 'Cleaning' } as BookingEntry));
    expect(taskName(one)).not.toBe(taskName({ ...one, attempt: 'second' }));
    expect(taskFor('n1', one)).toMatchObject({
      metadata: { namespace: 'node-n1', labels: { 'fleet.capstan.dev/cleaning': 'uid-a' } },
      spec: { type: 'node.clean', nodeClean: { allocation: 'uid-a', devices: ['a-gpu'] } },
    });
  });

  const done = entry('a', 'Cleaning');
  it.each<{ what: string; task: NodeTask | undefined; outcome: Outcome }>([
    { what: 'no task', task: undefined, outcome: { kind: 'missing' } },
    { what: 'a task that nobody has begun', task: taskOf(done), outcome: { kind: 'open' } },
    { what: 'a task that runs', task: taskOf(done, { phase: 'Running', attempt: 1 }), outcome: { kind: 'open' } },
    { what: 'a task that is tried again', task: taskOf(done, ended('Failed'), { attempt: 2 }), outcome: { kind: 'open' } },
    { what: 'success', task: taskOf(done, ended('Succeeded')), outcome: { kind: 'clean' } },
    {
      what: 'something that remains',
      task: taskOf(done, ended('Failed', { error: failure('process 7: could not be ended') })),
      outcome: { kind: 'failed', why: 'process 7: could not be ended' },
    },
    {
      what: 'a node that has lost its records',
      task: taskOf(done, ended('Unknown')),
      outcome: { kind: 'failed', why: `the task ${taskName(done)} is Unknown` },
    },
    { what: 'a person who knows better', task: taskOf(done, ended('Failed'), { isDeclared: true }), outcome: { kind: 'clean' } },
  ])('reports $what', ({ task, outcome }) => {
    expect(outcomeOf(task)).toEqual(outcome);
  });
});

describe('the entries of a node', () => {
  const [kept, releasing, cleaning] = [entry('kept', 'Granted'), entry('a', 'Releasing'), entry('b', 'Cleaning')];
  const spec = { entries: [kept, releasing, cleaning] };
  const next = (...tasks: NodeTask[]) =>
    nextEntries(spec, givenUp(spec, tasks)).entries.map(({ allocation, state }) => `${allocation.name} ${state}`);

  it.each([
    { tasks: [], result: ['kept Granted', 'a Releasing', 'b Cleaning'] },
    { tasks: [taskOf(releasing), taskOf(cleaning)], result: ['kept Granted', 'a Cleaning', 'b Cleaning'] },
    { tasks: [taskOf(releasing), taskOf(cleaning, ended('Succeeded'))], result: ['kept Granted', 'a Cleaning'] },
    { tasks: [taskOf(releasing, ended('Succeeded')), taskOf(cleaning, ended('Failed'))], result: ['kept Granted', 'b Cleaning'] },
    { tasks: [taskOf(kept, ended('Succeeded'))], result: ['kept Granted', 'a Releasing', 'b Cleaning'] },
  ])('become $result', ({ tasks, result }) => {
    expect(next(...tasks)).toEqual(result);
  });

  it.each([
    { phase: undefined, result: ['kept Granted', 'a Releasing', 'b Cleaning'], missing: [] },
    { phase: 'Stopping', result: ['kept Granted', 'a Releasing', 'b Cleaning'], missing: [] },
    { phase: 'Ended', result: ['kept Granted', 'a Releasing'], missing: ['a'] },
    { phase: 'Lost', result: ['kept Granted', 'a Releasing'], missing: ['a'] },
  ])('wait for units of their allocations, which are $phase', ({ phase, result, missing }) => {
    const nodeUnits = [releasing, cleaning].map(
      ({ allocation }) => ({ spec: { allocation: allocation.uid }, ...(phase && { status: { phase } }) }) as unknown as NodeUnit,
    );
    const cleaned = givenUp(spec, [taskOf(cleaning, ended('Succeeded'))], usedBy(nodeUnits));
    expect(nextEntries(spec, cleaned).entries.map(({ allocation, state }) => `${allocation.name} ${state}`)).toEqual(result);
    expect(cleaned.filter(({ outcome }) => outcome.kind === 'missing').map((one) => one.entry.allocation.name)).toEqual(missing);
  });

  it('are the same object if nothing changes', () => {
    expect(nextEntries(spec, givenUp(spec, []))).toBe(spec);
  });

  it('are freed with the node, apart from those that somebody has', () => {
    expect(withoutGivenUp(spec)).toEqual({ entries: [kept] });
  });
});

describe('the condition Clean', () => {
  const node = (ready: string, clean?: object): GPUNode =>
    ({ status: { conditions: [{ type: 'Ready', status: ready }, ...(clean ? [{ type: 'Clean', ...clean }] : [])] } }) as unknown as GPUNode;
  const one = entry('a', 'Cleaning');
  const open = givenUp({ entries: [one] }, [taskOf(one)]);
  const failed = givenUp({ entries: [one] }, [taskOf(one, ended('Failed', { error: failure('/data: is still mounted') }))]);
  const remains = { status: 'False', reason: 'Remains', message: 'after default/a in c (1 GPU): /data: is still mounted' };

  it.each([
    { what: 'is left out while a cleaning goes its way', of: node('True'), cleaned: open, condition: undefined },
    { what: 'names what remains', of: node('True'), cleaned: failed, condition: remains },
    { what: 'is written once', of: node('True', remains), cleaned: failed, condition: undefined },
    { what: 'stays while it is tried again', of: node('True', remains), cleaned: open, condition: undefined },
    {
      what: 'is unknown if the agent is silent',
      of: node('Unknown'),
      cleaned: open,
      condition: { status: 'Unknown', reason: 'Silent', message: '1 allocation left something here, and the agent is silent' },
    },
    { what: 'is true at last', of: node('True', remains), cleaned: [], condition: { status: 'True', reason: 'Cleaned', message: '' } },
    { what: 'is absent on nodes that never had a problem', of: node('True'), cleaned: [], condition: undefined },
  ])('$what', ({ of, cleaned, condition }) => {
    expect(cleanCondition(of, cleaned)).toEqual(condition);
  });
});

describe('a cleaning that has failed', () => {
  const one = entry('a', 'Cleaning');
  const task = (attempt: number, status: Partial<NodeTaskStatus> = {}): NodeTask =>
    taskOf(one, ended('Failed', { attempt, error: failure('/data: is still mounted'), ...status }), { attempt });
  const make = () => {
    const clock = { now: 0 };
    return { clock, retries: new Retries({ backoff: { base: 60, max: 200 }, now: () => clock.now }) };
  };
  const names = (tasks: readonly NodeTask[]) => tasks.map(({ spec }) => spec.attempt);

  it('is tried again after a while that grows up to a limit', () => {
    const { clock, retries } = make();
    for (const [attempt, delay] of [
      [1, 60],
      [2, 120],
      [3, 200],
      [4, 200],
    ] as const) {
      expect(retries.look('n1', [task(attempt)])).toEqual({ due: [], wait: delay });
      clock.now += delay - 1;
      expect(retries.look('n1', [task(attempt)])).toEqual({ due: [], wait: 1 });
      clock.now += 1;
      expect(names(retries.look('n1', [task(attempt)]).due)).toEqual([attempt]);
    }
  });

  it('waits anew if it fails again after a success, and apart from those of other nodes', () => {
    const { clock, retries } = make();
    retries.look('n1', [task(1)]);
    clock.now = 50;
    retries.look('n2', [task(1)]);
    retries.look('n1', []);
    clock.now = 70;
    expect(retries.look('n1', [task(1)])).toEqual({ due: [], wait: 60 });
    expect(retries.look('n2', [task(1)])).toEqual({ due: [], wait: 40 });
  });

  it.each([
    ['was cancelled', task(1, { phase: 'Cancelled', error: { ...failure('cancelled'), code: 'Cancelled' } })],
    ['may have been interrupted anywhere', task(1, { phase: 'Unknown', error: { ...failure('x'), code: 'Interrupted' } })],
    ['cannot succeed', task(1, { error: { ...failure('not permitted'), retryable: false } })],
    ['was tried as often as a task can be', task(1000)],
  ])('is left to people if it %s', (_what, failed) => {
    const { clock, retries } = make();
    expect(retries.look('n1', [failed])).toEqual({ due: [], wait: undefined });
    clock.now = 10_000_000;
    expect(retries.look('n1', [failed])).toEqual({ due: [], wait: undefined });
  });
});

it('keeps the latest tasks of former allocations, and all that are needed', () => {
  const tasks = Array.from({ length: 12 }, (_, index) => {
    const task = taskOf(entry(`t${index}`, 'Cleaning'));
    return { ...task, metadata: { ...task.metadata, creationTimestamp: new Date(index * 1000).toISOString() } };
  });
  expect(leftovers(tasks, [entry('t0', 'Cleaning')]).map(({ metadata }) => metadata.name)).toEqual(
    tasks
      .slice(1, 4)
      .map(({ metadata }) => metadata.name)
      .toReversed(),
  );
});

import type { AppOperation, AppStep, NodeTask } from '@capstan/api';
import { expect, test } from 'vitest';
import type { PlannedStep } from '../adapter/contract.ts';
import { advance } from './advance.ts';
import type { OperationScene } from './scene.ts';
import { examine, failedAttempt } from './steps.ts';

const planned = (id: string, stage: number, more: Partial<PlannedStep> = {}): PlannedStep =>
  ({ id, title: id, member: 'm', stage, type: 'process.run', task: { script: id }, ...more }) as PlannedStep;
const steps = [
  planned('look', 0, { keepsFact: 'init' }),
  planned('unit', 1, { when: { fact: 'init', is: 'systemd' } }),
  planned('process', 1, { when: { fact: 'init', is: 'agent' } }),
  planned('wait', 2),
];

function scene(states: readonly AppStep['state'][], facts?: Readonly<Record<string, string>>): OperationScene {
  const found = steps.map(({ id, title, stage, member }, index): AppStep => ({ id, title, stage, member, state: states[index]! }));
  return {
    now: Date.parse('2026-01-01T00:00:00Z'),
    operation: { spec: { type: 'deploy' }, status: { state: 'processing', steps: found } } as unknown as AppOperation,
    plan: { operation: 'u', version: '1', steps, phase: 'ready' },
    isPaused: false,
    place: () => ({ kind: 'heard', node: 'n' }),
    task: () => undefined,
    absent: new Set(),
    output: () => ({ kind: 'unread' }),
    kept: new Set(),
    facts,
  };
}

test('reads the facts when it is the turn of a step that depends on one, and not before', () => {
  expect(advance(scene(['pending', 'pending', 'pending', 'pending']))).toMatchObject({ kind: 'start', starts: [{ step: { id: 'look' } }] });
  expect(advance(scene(['succeeded', 'pending', 'pending', 'pending']))).toEqual({ kind: 'recall' });
});

test.each([
  [{ init: 'agent' }, ['succeeded', 'skipped', 'pending', 'pending']],
  [{ init: 'systemd' }, ['succeeded', 'pending', 'skipped', 'pending']],
  [{}, ['succeeded', 'skipped', 'skipped', 'pending']],
])('skips steps whose fact has another value: %j', (facts, states) => {
  const next = advance(scene(['succeeded', 'pending', 'pending', 'pending'], facts));
  expect(next).toMatchObject({ kind: 'report', status: { steps: states.map((state) => ({ state })) } });
});

test.each([
  ['names the node of a step that runs, for its output', {}, 'n'],
  ['does not name the node of a step whose output is a secret', { keepsSecret: 'token' }, undefined],
])('%s', (_, more, node) => {
  const open = scene(['pending', 'pending', 'pending', 'pending']);
  const task = { metadata: { name: 'any' }, spec: {} } as unknown as NodeTask;
  const plan = { ...open.plan, steps: [planned('look', 0, more), ...steps.slice(1)] };
  const next = advance({ ...open, plan, task: () => task });
  expect(next).toMatchObject({ kind: 'report', status: { steps: [{ id: 'look', state: 'running' }, {}, {}, {}] } });
  expect(next.kind === 'report' && next.status.steps?.[0]?.node).toBe(node);
});

test.each([
  ['shows the output of a step that failed', {}, 'abc'],
  ['does not show the output of a failed step that makes a secret', { keepsSecret: 'token' }, undefined],
])('%s', (_, more, output) => {
  const error = { code: 'CommandFailed', message: 'it failed', userFixable: true, retryable: false };
  const task = {
    metadata: { name: 't' },
    spec: { attempt: 1 },
    status: { attempt: 1, phase: 'Failed', finishedAt: '2026-01-01T00:00:00Z', error },
  } as unknown as NodeTask;
  const open = {
    ...scene(['running', 'pending', 'pending', 'pending']),
    task: () => task,
    output: () => ({ kind: 'read', text: 'abc' }) as const,
  };
  const step: AppStep = { id: 'look', title: 'look', stage: 0, state: 'running', task: 't', member: 'm' };
  expect(examine(step, planned('look', 0, more), open).error).toMatchObject({ code: 'CommandFailed' });
  expect(examine(step, planned('look', 0, more), open).error?.output).toBe(output);
});

test.each([
  ['is kept as a whole', { bytes: 3, truncated: false }, { keeps: { task: { metadata: { name: 't' } } } }],
  [
    'that was cut is never kept: the step is done again',
    { bytes: 1, truncated: true },
    { step: { state: 'pending' }, error: { code: 'OutputLost' } },
  ],
])('the output of a step that makes a fact %s', (_, output, expected) => {
  const status = { attempt: 1, phase: 'Succeeded', finishedAt: '2026-01-01T00:00:00Z', output };
  const task = { metadata: { name: 't' }, spec: { attempt: 1 }, status } as unknown as NodeTask;
  const open = {
    ...scene(['running', 'pending', 'pending', 'pending']),
    task: () => task,
    output: () => ({ kind: 'read', text: 'a' }) as const,
  };
  const step: AppStep = { id: 'look', title: 'look', stage: 0, state: 'running', task: 't', member: 'm' };
  expect(examine(step, steps[0]!, open)).toMatchObject(expected);
});

test('goes on after the steps that were skipped', () => {
  const next = advance(scene(['succeeded', 'skipped', 'pending', 'pending'], { init: 'agent' }));
  expect(next).toMatchObject({ kind: 'start', starts: [{ step: { id: 'process' } }] });
  expect(advance(scene(['succeeded', 'skipped', 'succeeded', 'pending'], { init: 'agent' }))).toMatchObject({
    starts: [{ step: { id: 'wait' } }],
  });
});

test.each([
  ['CommandFailed', 'one\nerror: the port is taken; stop it\n', 'the port is taken; stop it'],
  ['CommandFailed', 'error: first\nmore\nerror: last', 'last'],
  ['CommandFailed', 'Reading lists\nE: Unable to locate package slurmd\nE: Broken\n', 'Unable to locate package slurmd'],
  ['CommandFailed', 'an error: in a sentence', 'it failed'],
  ['DeadlineExceeded', 'attempt 1: exit code 1: x\nattempt 9: exit code 38: error: not yet\n', 'it failed: not yet'],
])('a failure %s with the output %j says why: %s', (code, output, message) => {
  const error = { code, message: 'it failed', userFixable: true, retryable: false };
  const at = scene(['running', 'pending', 'pending', 'pending']);
  const failed = failedAttempt({ id: 'look', title: 'look', stage: 0, state: 'running' }, planned('look', 0), { scene: at, error, output });
  expect(failed).toMatchObject({ step: { message }, error: { message, output } });
});

test('an operation that has failed has the instructions of the step', () => {
  const open = scene(['failed', 'pending', 'pending', 'pending']);
  const plan = { ...open.plan, steps: [planned('look', 0, { instructions: 'look at it' }), ...steps.slice(1)] };
  expect(advance({ ...open, plan, facts: {} })).toMatchObject({ kind: 'report', status: { state: 'failed', instructions: 'look at it' } });
});

test.each([
  [21, 'PortInUse'],
  [1, 'Fallback'],
  [undefined, 'Fallback'],
])('the exit code %s of a script has the code %s', (exitCode, code) => {
  const step = planned('look', 0, { code: 'Fallback', exitCodes: { '21': 'PortInUse' } });
  const task = { metadata: { name: 't' }, status: { exitCode } } as unknown as NodeTask;
  const error = { code: 'CommandFailed', message: 'it failed', userFixable: true, retryable: false };
  const failed = failedAttempt({ id: 'look', title: 'look', stage: 0, state: 'running' }, step, {
    scene: scene(['running', 'pending', 'pending', 'pending']),
    error,
    task,
  });
  expect(failed.error).toMatchObject({ code });
});

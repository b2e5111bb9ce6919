import { type AppInstance, type AppStep, appPreviewAnnotation } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import {
  memberReportFace,
  operationFace,
  progressOf,
  reporterWords,
  reportWords,
  retriesAt,
  standingOf,
  stateOf,
  stepFace,
} from './state.ts';

interface Parts {
  readonly status?: object;
  readonly spec?: object;
  readonly metadata?: object;
}

const instance = ({ status = {}, spec = {}, metadata = {} }: Parts = {}): AppInstance =>
  ({
    apiVersion: 'v1',
    kind: 'AppInstance',
    metadata: { name: 'a', namespace: 'default', ...metadata },
    spec: { app: 'slurm', placement: {}, stopped: false, paused: false, ...spec },
    status,
  }) as unknown as AppInstance;

const operation = (state: string, message?: string): object => ({
  lastOperation: { id: 'a-1', type: 'deploy', state, ...(message && { message }) },
});

describe('the word and the standing of an instance', () => {
  test.each<[string, string, Parts]>([
    ['Waiting', 'attention', {}],
    ['Failed', 'attention', { status: { state: 'pending', health: 'failed', message: 'no such allocation' } }],
    ['Paused', 'over', { status: { state: 'pending', health: 'progressing' }, spec: { paused: true } }],
    ['Plan only', 'over', { metadata: { annotations: { [appPreviewAnnotation]: '' } } }],
    ['Deploying', 'attention', { status: { state: 'deploying', health: 'progressing', ...operation('processing') } }],
    ['Retrying', 'attention', { status: { state: 'deploying', health: 'progressing', ...operation('retrying') } }],
    ['Failed', 'attention', { status: { state: 'failed', health: 'failed', ...operation('failed') } }],
    ['Cancelled', 'attention', { status: { state: 'failed', health: 'failed', ...operation('cancelled') } }],
    ['Needs help', 'attention', { status: { state: 'deploying', health: 'failed', ...operation('needs_intervention') } }],
    ['Running', 'active', { status: { state: 'running', health: 'healthy', ...operation('succeeded') } }],
    ['Changing', 'active', { status: { state: 'running', health: 'progressing', ...operation('processing') } }],
    ['Degraded', 'attention', { status: { state: 'running', health: 'degraded', ...operation('failed') } }],
    ['Unhealthy', 'attention', { status: { state: 'running', health: 'failed' } }],
    ['Unknown', 'attention', { status: { state: 'running', health: 'unknown' } }],
    ['Stopping', 'over', { status: { state: 'running', health: 'progressing', ...operation('processing') }, spec: { stopped: true } }],
    ['Stopped', 'over', { status: { state: 'stopped', health: 'unknown', ...operation('succeeded') }, spec: { stopped: true } }],
    ['Starting', 'attention', { status: { state: 'stopped', health: 'unknown', ...operation('processing') } }],
    ['Removing', 'over', { status: { state: 'removing' }, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    [
      'Failed',
      'attention',
      { status: { state: 'removing', ...operation('failed') }, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    ],
  ])('%s: %s', (word, standing, parts) => {
    expect(stateOf(instance(parts)).word).toBe(word);
    expect(standingOf(instance(parts))).toBe(standing);
  });

  test('the reason of a retry is that of the operation', () => {
    const status = { state: 'deploying', message: 'deploying', ...operation('retrying', 'the node is silent') };
    expect(stateOf(instance({ status })).reason).toBe('the node is silent');
  });

  test('the first problem is the reason where there is no message', () => {
    const lastErrors = [{ code: 'A', message: 'the port is taken', userFixable: true, retryable: false }];
    expect(stateOf(instance({ status: { state: 'failed', lastErrors } })).reason).toBe('the port is taken');
  });
});

test('retrying and failed are different words of an operation', () => {
  expect([operationFace('retrying'), operationFace('failed')]).toEqual([
    { tone: 'warn', word: 'Retrying' },
    { tone: 'bad', word: 'Failed' },
  ]);
});

test('a step that is tried again is not a failed one', () => {
  const step = { id: 'a', title: 'a', stage: 0, state: 'failed' } as AppStep;
  expect(stepFace(step).word).toBe('Failed');
  expect(stepFace({ ...step, nextRetryAt: '2026-01-01T00:00:00Z' }).word).toBe('Retrying');
});

test('progress is shown while something is under way or has failed, and not after it succeeded', () => {
  const progress = { completed: 3, total: 12 };
  expect(progressOf(instance({ status: { progress, ...operation('processing') } }))).toEqual({ share: 0.25, text: '3 of 12 steps' });
  expect(progressOf(instance({ status: { progress, ...operation('succeeded') } }))).toBeUndefined();
});

test.each<[string, string | undefined, object]>([
  ['an operation that is retried', '2026-01-01T00:00:00Z', { lastOperation: { state: 'retrying', nextRetryAt: '2026-01-01T00:00:00Z' } }],
  ['an adapter that does not answer yet', 'soon', { state: 'pending', health: 'progressing' }],
  ['a wish that cannot be fulfilled', undefined, { state: 'pending', health: 'failed' }],
  ['an operation that has failed', undefined, { state: 'failed', ...operation('failed') }],
])('%s is tried again: %s', (_, time, status) => expect(retriesAt(instance({ status }))).toBe(time));

describe('a report of the app itself', () => {
  const times = { source: 'account', reportedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-01T00:05:00Z' };
  test('says its phase, how much is done, and its message without escape sequences', () => {
    expect(reportWords({ ...times, phase: 'training', progress: { completed: 3, total: 10 }, message: '\u001b[31mepoch 3' })).toBe(
      'training, 3 of 10: epoch 3',
    );
    expect(reportWords({ ...times, phase: 'idle' })).toBe('idle');
  });

  test('of a member says whether it works', () => {
    expect(memberReportFace({ ...times, healthy: false, message: 'no quorum' })).toEqual({ tone: 'bad', word: 'Unhealthy: no quorum' });
    expect(memberReportFace({ ...times, healthy: true })).toEqual({ tone: 'good', word: 'Healthy' });
  });

  test('names its source', () => {
    expect(['account', 'agent/gpu-1'].map(reporterWords)).toEqual(['the app itself', 'the agent of gpu-1']);
  });
});

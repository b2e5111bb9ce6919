import { type AppInstance, appPreviewAnnotation, type GPUUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import type { Followed } from '../live/protocol.ts';
import { workloadsOf } from './use-workloads.ts';
import { byUrgency, kindsOf, workloadOfInstance, workloadOfUnit } from './workload.ts';

const unit = (phase: string, name = phase.toLowerCase()): GPUUnit =>
  ({
    apiVersion: 'v1',
    kind: 'GPUUnit',
    metadata: { name, namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { nodes: 1, running: true, offering: 'a' },
    status: { phase },
  }) as unknown as GPUUnit;

test.each([
  ['Pending', 'attention'],
  ['Starting', 'attention'],
  ['Running', 'active'],
  ['Failed', 'attention'],
  ['Unknown', 'attention'],
  ['Stopped', 'over'],
  ['Succeeded', 'over'],
])('a unit that is %s needs %s', (phase, standing) => expect(workloadOfUnit(unit(phase)).standing).toBe(standing));

test('a unit that failed shows the end of its output as plain text', () => {
  const failed = unit('Failed');
  const members = [{ rank: 0, node: 'a', phase: 'Ended', lastLines: ['Traceback', '\u001b[31mValueError\u001b[0m', ''] }];
  expect(workloadOfUnit({ ...failed, status: { ...failed.status, members } } as unknown as GPUUnit).lastLine).toBe('ValueError');
});

test('failures come before things that wait, and those before things that happen by themselves', () => {
  const sorted = ['Starting', 'Failed', 'Pending'].map((phase) => workloadOfUnit(unit(phase))).sort(byUrgency);
  expect(sorted.map(({ word }) => word)).toEqual(['Failed', 'Pending', 'Starting']);
});

const instance = (name: string, status: object, annotations = {}): AppInstance =>
  ({
    apiVersion: 'v1',
    kind: 'AppInstance',
    metadata: { name, namespace: 'default', annotations },
    spec: { app: 'slurm', placement: {}, stopped: false, paused: false },
    status,
  }) as unknown as AppInstance;
const content = <T>(items: readonly T[]): Followed<readonly T[]> => ({ state: 'content', content: items });
const refused = (code: number): Followed<never> => ({ state: 'error', status: { code } as never });

test('units and instances are listed together, without instances that only show a plan', () => {
  const joined = workloadsOf({
    units: content([unit('Running')]),
    instances: content([
      instance('hpc', { state: 'deploying', health: 'progressing' }),
      instance('cluster', { state: 'running', health: 'healthy' }),
      instance('plan', {}, { [appPreviewAnnotation]: '' }),
    ]),
  });
  expect(joined.state === 'content' && joined.content.attention.map(({ name }) => name)).toEqual(['hpc']);
  expect(joined.state === 'content' && joined.content.active.map(({ name }) => name)).toEqual(['running', 'cluster']);
});

test.each([403, 404])('a workspace without apps (%i) still lists its units', (code) => {
  const joined = workloadsOf({ units: content([unit('Running')]), instances: refused(code) });
  expect(joined.state === 'content' && joined.content.active).toHaveLength(1);
});

test('a workspace with neither kind says so, and other errors are not hidden', () => {
  expect(workloadsOf({ units: refused(404), instances: refused(404) })).toEqual(refused(404));
  expect(workloadsOf({ units: content([]), instances: refused(500) })).toEqual(refused(500));
});

test('an instance that failed shows the end of the output of its step as plain text', () => {
  const lastErrors = [{ code: 'A', message: 'm', output: 'one\n\u001b[31mtwo\u001b[0m\n', userFixable: true, retryable: true }];
  expect(workloadOfInstance(instance('hpc', { state: 'failed', lastErrors })).lastLine).toBe('two');
});

test('workloads that are not shown are counted by kind, because each kind has a page of its own', () => {
  const workloads = [unit('Running'), unit('Failed')].map(workloadOfUnit);
  expect(kindsOf([...workloads, workloadOfInstance(instance('hpc', {}))])).toEqual([
    { kind: 'unit', amount: 2 },
    { kind: 'app', amount: 1 },
  ]);
  expect(kindsOf([workloadOfInstance(instance('hpc', {}))])).toEqual([{ kind: 'app', amount: 1 }]);
});

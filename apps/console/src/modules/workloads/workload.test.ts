import type { GPUUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import { byUrgency, workloadOfUnit } from './workload.ts';

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

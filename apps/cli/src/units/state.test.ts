import type { GPUUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import { isOver, outcomeOf, phaseOf, progressOf } from './state.ts';

const unit = (status: object, metadata: object = {}): GPUUnit => ({ metadata, spec: {}, status }) as unknown as GPUUnit;
const on = (member: object = {}): object => ({ members: [{ rank: 0, node: 'n1', phase: 'Pending', ...member }] });

test.each<[object, string]>([
  [{}, 'Waiting to be placed'],
  [{ phase: 'Pending', message: 'needs 2 H100 on one node; n1 has 1' }, 'Waiting: needs 2 H100 on one node; n1 has 1'],
  [{ phase: 'Pending', message: 'waits for an allocation' }, 'Waiting: for an allocation'],
  [{ phase: 'Starting', message: 'starts on n1', ...on() }, 'Starting on n1'],
  [{ phase: 'Starting', message: 'pulls the image, 40 %', ...on() }, 'Starting on n1: pulls the image, 40 %'],
  [{ phase: 'Running', ...on() }, 'Running on n1'],
  [{ phase: 'Stopping', message: 'stops: its owner stopped it' }, 'Stopping: its owner stopped it'],
  [{ phase: 'Unknown', message: 'node n1 has been silent' }, 'Its node is silent: node n1 has been silent'],
  [{ phase: 'Stopped', message: 'stopped' }, 'Stopped'],
  [{ phase: 'Failed', message: 'exit code 3' }, 'Failed: exit code 3'],
])('%j is told as: %s', (status, expected) => {
  expect(progressOf(unit(status))).toBe(expected);
});

test.each<[object, string | undefined]>([
  [{ phase: 'Succeeded', message: 'completed' }, undefined],
  [{ phase: 'Failed', message: 'exit code 137', ...on({ reason: 'OutOfMemory' }) }, 'Failed (OutOfMemory): exit code 137'],
  [{ phase: 'Failed', message: 'exit code 3', ...on({ reason: 'Error' }) }, 'Failed: exit code 3'],
  [{ phase: 'Stopped', message: 'stopped', ...on({ reason: 'Stopped' }) }, 'Stopped'],
  [
    { phase: 'Stopped', message: 'it has reached maxDuration', ...on({ reason: 'TimeLimit' }) },
    'Stopped (TimeLimit): it has reached maxDuration',
  ],
])('the end %j is told as: %s', (status, expected) => {
  expect(outcomeOf(unit(status))).toBe(expected);
});

test('a status of an older spec does not count as an end', () => {
  expect(isOver(unit({ phase: 'Stopped', observedGeneration: 1 }, { generation: 2 }))).toBe(false);
  expect(isOver(unit({ phase: 'Stopped', observedGeneration: 2 }, { generation: 2 }))).toBe(true);
  expect(phaseOf(unit({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe('Deleting');
});

import type { GPUUnit } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { adviceFor } from './advice.ts';
import { askedFor, isOver, programOf, stateOf } from './state.ts';

type Patch = { readonly spec?: object; readonly status?: object; readonly metadata?: object };

function unit({ spec, status, metadata }: Patch = {}): GPUUnit {
  return {
    apiVersion: 'v1',
    kind: 'GPUUnit',
    metadata: { name: 'train', namespace: 'default', generation: 2, ...metadata },
    spec: { nodes: 1, running: true, ...spec },
    ...(status && { status }),
  } as unknown as GPUUnit;
}

const condition = (type: string, status: string, reason = 'Any', message = ''): object => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '',
});

describe('the state of a unit', () => {
  test.each([
    ['is new', {}, 'Pending', 'warn'],
    ['waits', { status: { phase: 'Pending', message: 'needs 4 H100' } }, 'Pending', 'warn'],
    ['runs', { status: { phase: 'Running' } }, 'Running', 'good'],
    ['failed', { status: { phase: 'Failed' } }, 'Failed', 'bad'],
    ['is silent', { status: { phase: 'Unknown' } }, 'Unknown', 'warn'],
    ['is being deleted', { metadata: { deletionTimestamp: 'now' }, status: { phase: 'Running' } }, 'Deleting', 'busy'],
    ['runs and is not ready', { status: { phase: 'Running', conditions: [condition('Ready', 'False')] } }, 'Not ready', 'warn'],
  ])('that %s', (_what, patch, word, tone) => expect(stateOf(unit(patch))).toMatchObject({ word, tone }));

  test('has the reason of the platform, or the step of its node while it starts', () => {
    expect(stateOf(unit({ status: { phase: 'Pending', message: 'needs 4 H100' } })).reason).toBe('needs 4 H100');
    const members = [{ rank: 0, node: 'a', phase: 'Preparing', step: 'pulls layer 3 of 7' }];
    expect(stateOf(unit({ status: { phase: 'Starting', message: 'starts on a', members } })).reason).toBe('pulls layer 3 of 7');
  });

  test('is over only if the status describes the spec as it is', () => {
    expect(isOver(unit({ status: { phase: 'Failed', observedGeneration: 2 } }))).toBe(true);
    expect(isOver(unit({ status: { phase: 'Failed', observedGeneration: 1 } }))).toBe(false);
    expect(isOver(unit({ status: { phase: 'Running', observedGeneration: 2 } }))).toBe(false);
  });
});

describe('the advice for a unit', () => {
  const waiting = (...conditions: object[]) => unit({ status: { phase: 'Pending', conditions } });
  test.each([
    ['waits for devices', waiting(condition('Allocated', 'False', 'Shortage')), 'queue'],
    ['exceeds a quota', waiting(condition('Allocated', 'False', 'QuotaExceeded')), 'limits'],
    ['is in a workspace that the platform may not read', waiting(condition('Allocated', 'False', 'WorkspaceUnknown')), 'workspace'],
    ['names no offering that exists', waiting(condition('Allocated', 'False', 'OfferingNotFound')), 'new'],
    ['lacks a Secret', waiting(condition('Configured', 'False', 'SecretsMissing')), 'detail'],
    ['waits for a storage', waiting(condition('StoragesReady', 'False')), 'storage'],
    ['is new', unit(), 'queue'],
    ['failed', unit({ status: { phase: 'Failed', members: [{ reason: 'Error' }] } }), 'logs'],
    ['is silent', unit({ status: { phase: 'Unknown' } }), 'fleet'],
    ['is not ready', unit({ status: { phase: 'Running', conditions: [condition('Ready', 'False')] } }), 'logs'],
  ])('that %s', (_what, object, place) => expect(adviceFor(object)).toMatchObject({ place }));

  test('that ran out of memory says so', () => {
    expect(adviceFor(unit({ status: { phase: 'Failed', members: [{ reason: 'OutOfMemory' }] } }))?.text).toContain('more memory');
  });

  test('that runs is none', () => expect(adviceFor(unit({ status: { phase: 'Running' } }))).toBeUndefined());
});

test('names the resources in few words', () => {
  expect(askedFor(unit({ spec: { offering: 'h100-4', nodes: 2 } }))).toBe('2 × h100-4');
  expect(askedFor(unit({ spec: { resources: { gpu: { model: 'H200', count: 2 }, cpu: 4, memory: '16Gi' } } }))).toBe('2 H200, 4 cpu, 16Gi');
});

test('quotes a program as a shell would need it', () => {
  expect(programOf(unit({ spec: { command: ['sh', '-c', "echo 'a b'"] } }))).toBe(`sh -c 'echo '\\''a b'\\'''`);
});

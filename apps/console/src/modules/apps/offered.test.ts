import type { AppInstance } from '@capstan/api';
import { expect, test } from 'vitest';
import { needsApp, offeredActions, refusedActions } from './offered.ts';

const instance = {
  status: {
    allowedActions: [
      { action: 'reconcile', title: 'Make everything as it should be', isDestructive: false },
      { action: 'drain', member: 'm1', title: 'Drain', isDestructive: true },
    ],
    constraints: [
      { action: 'undrain', member: 'm1', reason: 'NotDrained', message: 'the member takes jobs' },
      { action: 'change', reason: 'Paused', message: 'the instance is paused' },
      { action: 'restore', reason: 'OperationRunning', message: 'the operation a-1 runs' },
    ],
  },
} as unknown as AppInstance;

test('operations on members and on the instance are apart', () => {
  expect(offeredActions(instance, undefined).map(({ action }) => action)).toEqual(['reconcile']);
  expect(offeredActions(instance, 'm1').map(({ action }) => action)).toEqual(['drain']);
  expect(refusedActions(instance, 'm1').map(({ action }) => action)).toEqual(['undrain']);
});

test('refusals that the page shows in another way make no button', () => {
  expect(refusedActions(instance, undefined).map(({ action }) => action)).toEqual(['restore']);
});

test('only the app knows the parameters of its own operations', () => {
  expect(['retry', 'repair', 'drain', 'snapshot'].filter(needsApp)).toEqual(['drain', 'snapshot']);
});

import { ApiError } from '@capstan/client';
import { done } from '@capstan/controller';
import { status } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { unlessShut } from './shut.ts';

const exports = { group: 'apis.kcp.io', resource: 'apiexports' };
const refusal = (causes: object[]): ApiError => {
  const { status: said, code } = status.forbidden(exports, 'x', 'no');
  return new ApiError({ ...said, details: { ...said.details, causes } } as ApiError['status'], { code });
};

test('looks again later while the workspace cannot be entered', async () => {
  expect(await unlessShut(Promise.reject(refusal([])))).toEqual({ type: 'requeueAfter', milliseconds: 5_000 });
});

test('leaves a workspace that is being deleted, and any other error, to the runtime', async () => {
  const terminating = refusal([{ reason: 'WorkspaceTerminating' }]);
  await expect(unlessShut(Promise.reject(terminating))).rejects.toBe(terminating);
  await expect(unlessShut(Promise.reject(new Error('oops')))).rejects.toThrow('oops');
});

test('returns the result of the work', async () => {
  expect(await unlessShut(Promise.resolve(done))).toEqual(done);
});

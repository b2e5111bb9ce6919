import { ApiError } from '@capstan/client';
import { done, requeueAfter } from '@capstan/controller';
import { status } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { whenShut } from './shut.ts';

const { status: refusal } = status.forbidden({ group: '', resource: 'secrets' }, 'x', 'no');
const refusedFor = (reason: string): ApiError =>
  new ApiError({ ...refusal, details: { causes: [{ reason, message: '' }] } }, { code: 403 });

it('looks again at a workspace that cannot be entered yet, and gives up on one that ends', () => {
  expect(whenShut(new ApiError(refusal, { code: 403 }))).toEqual(requeueAfter(5_000));
  expect(whenShut(refusedFor('WorkspaceTerminating'))).toEqual(done);
  expect(whenShut(refusedFor('NamespaceTerminating'))).toEqual(done);
});

import { ConnectionError } from '@capstan/client';
import { expect, test } from 'vitest';
import { asFailure, errorStatus, TaskFailure } from './failure.ts';

test.each([
  [new TaskFailure('UnknownScript', 'no'), 'UnknownScript', false],
  [Object.assign(new Error('full'), { code: 'ENOSPC' }), 'DiskFull', true],
  [new ConnectionError('failed', 'no server answers'), 'ControlPlaneUnreachable', true],
  [new Error('odd'), 'Internal', true],
  ['odd', 'Internal', true],
])('%s is %s', (error, code, retryable) => {
  expect(errorStatus(asFailure(error))).toMatchObject({ code, retryable });
});

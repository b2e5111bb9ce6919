import { problemCodes } from '@capstan/api';
import { ApiError, ConnectionError } from '@capstan/client';
import { expect, test } from 'vitest';
import { problemOf, restField } from './problem.ts';

const status = (code: number, reason: string, name?: string): ApiError =>
  ApiError.of(code, JSON.stringify({ kind: 'Status', code, reason, message: 'why', ...(name && { details: { name } }) }), '7');

test.each<[ApiError, string]>([
  [status(400, 'BadRequest'), 'invalid_request'],
  [status(403, 'Forbidden'), 'forbidden'],
  [status(404, 'NotFound', 'train'), 'not_found'],
  [status(404, 'NotFound'), 'workspace_not_found'],
  [status(409, 'AlreadyExists', 'train'), 'already_exists'],
  [status(409, 'Conflict', 'train'), 'conflict'],
  [status(410, 'Expired'), 'expired'],
  [status(422, 'Invalid', 'train'), 'validation_failed'],
  [status(429, 'TooManyRequests'), 'too_many_requests'],
  [status(500, 'InternalError'), 'upstream_failed'],
  [status(501, 'NotImplemented'), 'not_implemented'],
  [status(503, 'ServiceUnavailable'), 'unavailable'],
  [status(418, ''), 'invalid_request'],
])('%s is %s', (error, code) => {
  const problem = problemOf(error);
  expect([problem.code, problem.details.headers?.['retry-after']]).toEqual([code, '7']);
  expect(problem.body('id')).toMatchObject({ code, status: problemCodes[code as keyof typeof problemCodes].status, detail: 'why' });
});

test('of the connection to the API server, addresses are not told', () => {
  const problems = (['failed', 'connect-timeout', 'response-timeout'] as const).map((fault) =>
    problemOf(new ConnectionError(fault, 'https://10.0.0.1:6443 refused')),
  );
  expect(problems.map(({ code }) => code)).toEqual(['unavailable', 'unavailable', 'upstream_timeout']);
  expect(problems.map(({ message }) => message).join()).not.toContain('10.0.0.1');
});

test.each([
  ['spec.env[0].name', 'env[0].name'],
  ['metadata.labels', 'labels'],
  ['metadata.resourceVersion', 'version'],
  ['spec', ''],
  ['specific', 'specific'],
])('the field %s is %j here', (field, name) => expect(restField(field)).toBe(name));

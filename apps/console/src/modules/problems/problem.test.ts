import { ApiError, ConnectionError } from '@capstan/client/browser';
import { expect, test } from 'vitest';
import { problemOf, problemOfStatus } from './problem.ts';

test.each([
  [401, 'Your session has ended', false],
  [403, 'You may not see units here', true],
  [404, 'This workspace has no units', true],
  [503, 'The server is busy', true],
  [500, 'Could not read units', true],
])('%d says what to do', (code, title, isRetriable) => {
  const problem = problemOfStatus({ code, message: 'because' }, 'units');
  expect(problem).toMatchObject({ title, detail: 'because', isRetriable });
  expect(problem.next).not.toBe('');
});

test('errors of the client are told apart from those of the connection', () => {
  const refused = ApiError.of(403, JSON.stringify({ kind: 'Status', message: 'no' }));
  expect(problemOf(refused, 'units')).toMatchObject({ title: 'You may not see units here', detail: 'no' });
  expect(problemOf(new ConnectionError('failed', 'refused'), 'units').title).toBe('The console does not answer');
});

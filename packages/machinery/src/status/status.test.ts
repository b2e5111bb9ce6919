import { expect, test } from 'vitest';
import { FieldPath, fieldError } from '../index.ts';
import * as status from './status.ts';

const large = 'x'.repeat(5_000_000);

test.each([
  ['a message', status.badRequest(large)],
  ['an internal error', status.internalError(large)],
  [
    'a conflict',
    status.applyConflict(
      Array.from({ length: 1000 }, () => ({ message: large, field: '.spec' })),
      large,
    ),
  ],
  [
    'an invalid object',
    status.invalidObject({ group: '', kind: 'ConfigMap' }, 'a', [fieldError.invalid(FieldPath.of('data'), large, large)]),
  ],
  [
    'many errors',
    status.invalidObject(
      { group: '', kind: 'ConfigMap' },
      'a',
      Array.from({ length: 50_000 }, (_, index) => fieldError.invalid(FieldPath.of(`field${index}`), { large: 'value' }, 'is wrong')),
    ),
  ],
])('%s is short, however much the client sent', (_what, error) => {
  expect(error.message.length).toBeLessThan(20_000);
  expect(JSON.stringify(error.status).length).toBeLessThan(64_000);
});

test('says how much of a message is missing, and does not split a character', () => {
  expect(status.badRequest('x'.repeat(20_000)).message).toMatch(/x… \(3616 more characters\)$/);
  const { message } = status.badRequest(`${'x'.repeat(16 * 1024 - 1)}😀${'x'.repeat(100)}`);
  expect(message.isWellFormed()).toBe(true);
});

test('many errors that show the same large value print it once', () => {
  const value = { text: 'x'.repeat(1_000_000) };
  const errors = Array.from({ length: 5000 }, () => fieldError.invalid(FieldPath.of('spec'), value, 'is wrong'));
  expect(new Set(errors.map(({ body }) => body)).size).toBe(1);
  expect(errors[0]!.body.length).toBeLessThan(10_000);
});

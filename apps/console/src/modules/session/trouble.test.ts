import { afterEach, expect, test } from 'vitest';
import { forgetTrouble, lastTrouble, noteTrouble, troubleOfEnd, troubleWords } from './trouble.ts';

afterEach(forgetTrouble);

test('the end of a stream says why the session is over', () => {
  expect(troubleOfEnd({ code: 4401, reason: 'expired' })).toBe('session-expired');
  expect(troubleOfEnd({ code: 4401, reason: 'refused' })).toBe('token-refused');
  expect(troubleOfEnd({ code: 4401, reason: 'something new' })).toBe('session-over');
  expect(troubleOfEnd({ code: 1012, reason: 'restarting' })).toBeUndefined();
  expect(troubleOfEnd({ code: 1006, reason: '' })).toBeUndefined();
});

test('the exact reason wins over the general one', () => {
  noteTrouble('session-over');
  expect(lastTrouble()).toBe('session-over');
  noteTrouble('token-refused');
  noteTrouble('session-over');
  expect(lastTrouble()).toBe('token-refused');
});

test('an address cannot bring words of its own', () => {
  expect(troubleWords('denied')).toMatch(/did not allow/);
  for (const other of ['<b>call me</b>', 'toString', '', undefined, null]) expect(troubleWords(other)).toBeUndefined();
});

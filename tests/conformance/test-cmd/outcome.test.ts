import { expect, test } from 'vitest';
import { readShell } from './outcome.ts';

test('a function that came to its end has passed', () => {
  expect(readShell({ code: 0, output: 'FAIL!\nis also a word' })).toEqual({ state: 'passed' });
});

test('the reason is what was expected and what came', () => {
  const output = [
    '\u001b[32mcore.sh:12: Successful get pods',
    '\u001b(B\u001b[m\u001b[1m\u001b[31mFAIL!',
    '\u001b(B\u001b[mmessage:created',
    'has not:unchanged',
    '311 test/cmd/../../test/cmd/apply.sh',
    '!!! [1115 14:43:41] Call tree:',
    '!!! [1115 14:43:41]  1: one.sh:26 run_tests(...)',
  ].join('\n');
  expect(readShell({ code: 1, output })).toEqual({ state: 'failed', reason: 'message:created has not:unchanged' });
});

test('or the last word of the command that failed', () => {
  const output = 'pod/a created\nError from server (Conflict): no\n!!! [1115 14:43:41] Call tree:\n';
  expect(readShell({ code: 1, output })).toEqual({ state: 'failed', reason: 'Error from server (Conflict): no' });
});

test('or how it ended, when nothing was said', () => {
  expect(readShell({ code: -1, output: '' })).toEqual({ state: 'failed', reason: 'it ended with -1' });
});

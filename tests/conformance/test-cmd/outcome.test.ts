import { expect, test } from 'vitest';
import { readShell } from './outcome.ts';

test('reports a function that ran to its end as passed', () => {
  expect(readShell({ code: 0, output: 'FAIL!\nis also a word' })).toEqual({ state: 'passed' });
});

test('reports the expected and the actual text as the reason', () => {
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

test('reports the last line of a failed command as the reason', () => {
  const output = 'pod/a created\nError from server (Conflict): no\n!!! [1115 14:43:41] Call tree:\n';
  expect(readShell({ code: 1, output })).toEqual({ state: 'failed', reason: 'Error from server (Conflict): no' });
});

test('reports the exit code if there was no output', () => {
  expect(readShell({ code: -1, output: '' })).toEqual({ state: 'failed', reason: 'it ended with -1' });
});

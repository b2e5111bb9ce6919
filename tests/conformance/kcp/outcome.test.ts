import { expect, test } from 'vitest';
import { readTests } from './outcome.ts';

const output = `=== RUN   TestGood
=== RUN   TestBad
=== RUN   TestBad/one_case
=== RUN   TestExcused
    proxy_test.go:52: This test requires two shards.
--- SKIP: TestExcused (0.01s)
    bad_test.go:175:
        	Error Trace:	/x/eventually.go:40
        	            				/x/bad_test.go:175
        	Error:      	Condition never
        	            	satisfied
        	Test:       	TestBad/one_case
        	Messages:   	waiting for it
--- FAIL: TestBad (31.64s)
    --- FAIL: TestBad/one_case (31.64s)
--- PASS: TestGood (0.1s)
=== RUN   TestUnfinished
panic: test timed out after 1s
`;

test('reads the outcome of each test from the output of the program', () => {
  expect(readTests(output)).toEqual([
    { name: 'TestExcused', outcome: { state: 'not applicable', reason: 'This test requires two shards.' } },
    { name: 'TestBad', outcome: { state: 'failed', reason: 'waiting for it: Condition never satisfied' } },
    { name: 'TestGood', outcome: { state: 'passed' } },
    { name: 'TestUnfinished', outcome: { state: 'failed', reason: 'test timed out after 1s' } },
  ]);
});

import { expect, test } from 'vitest';
import { functionsOf } from './suite.ts';

test('lists the functions that the suite records, once each, and the rest of the suite', () => {
  const text = `# record_command run_example_tests
record_command() {
}
  record_command "run_\${pkg}_tests"
  record_command run_b_tests
    record_command run_a_test
  record_command run_b_tests
`;
  expect(functionsOf(text)).toEqual(['run_b_tests', 'run_a_test', 'runTests']);
});

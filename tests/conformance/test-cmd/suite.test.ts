import { expect, test } from 'vitest';
import { functionsOf } from './suite.ts';

test('the functions are those that the suite records, once each, and what is between them', () => {
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

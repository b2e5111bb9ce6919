/** The outcome of one test run. */
export interface Tally {
  readonly passed: number;
  /** The full names of tests that failed, and of files that could not be loaded. */
  readonly failed: readonly string[];
  /** The full names of tests that did not run. They name the missing program. */
  readonly skipped: readonly string[];
  /** The files with failures, by their paths. */
  readonly failedFiles: readonly string[];
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Reads vitest's JSON report. A file that could not be loaded, or an exit code that no test explains, counts as one failure. */
export function parseReport(text: string, exitCode: number): Tally {
  const { testResults } = JSON.parse(text) as Report;
  const skipped: string[] = [];
  const failed: string[] = [];
  const failedFiles: string[] = [];
  let passed = 0;
  for (const file of testResults) {
    if (file.status === 'failed') failedFiles.push(file.name);
    if (file.status === 'failed' && file.assertionResults.every((result) => result.status !== 'failed')) failed.push(file.name);
    for (const { fullName, status } of file.assertionResults) {
      if (status === 'passed') passed++;
      else if (status === 'failed') failed.push(fullName);
      else skipped.push(fullName);
    }
  }
  if (exitCode !== 0 && failed.length === 0) failed.push(`the test runner ended with ${exitCode} although no test failed`);
  return { passed, failed, skipped, failedFiles };
}

/** The outcome of a run in which files with failures were run again: a test that passed once passed. `unsteady` has the tests that failed once only. */
export function afterSecondTry(first: string, second: Tally): Tally & { readonly unsteady: readonly string[] } {
  const { testResults } = JSON.parse(first) as Report;
  const steady = parseReport(JSON.stringify({ testResults: testResults.filter(({ status }) => status !== 'failed') }), 0);
  const repeated = testResults.filter(({ status }) => status === 'failed').flatMap(({ assertionResults }) => assertionResults);
  const passedBefore = new Set(repeated.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName));
  const { failed } = parseReport(first, 0);
  const failedNow = second.failed.filter((name) => passedBefore.has(name));
  const failedTwice = second.failed.filter((name) => !passedBefore.has(name));
  return {
    passed: steady.passed + second.passed + failedNow.length,
    failed: failedTwice,
    skipped: [...steady.skipped, ...second.skipped],
    failedFiles: failedTwice.length === 0 ? [] : second.failedFiles,
    unsteady: [...failed.filter((name) => !second.failed.includes(name)), ...failedNow],
  };
}

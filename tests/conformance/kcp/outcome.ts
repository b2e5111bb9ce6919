import type { Outcome } from '../outcome.ts';

export interface TestRun {
  readonly name: string;
  readonly outcome: Outcome;
}

/** Reads the output of a Go test program: one run for each test that ended, and one for the whole program if it was interrupted. */
export function readTests(output: string): TestRun[] {
  const runs = [...output.matchAll(/^--- (PASS|FAIL|SKIP): (\S+)/gm)].map(([, verdict, name = '']): TestRun => {
    if (verdict === 'PASS') return { name, outcome: { state: 'passed' } };
    return verdict === 'SKIP'
      ? { name, outcome: { state: 'not applicable', reason: excuseOf(output, name) } }
      : { name, outcome: { state: 'failed', reason: reasonOf(output, name) } };
  });
  const ended = new Set(runs.map(({ name }) => name));
  const begun = [...output.matchAll(/^=== RUN {3}([^\s/]+)$/gm)].map(([, name = '']) => name).filter((name) => !ended.has(name));
  return [...runs, ...begun.map((name): TestRun => ({ name, outcome: { state: 'failed', reason: brokenOff(output) } }))];
}

/** testify's report of the first failed assertion. */
function reasonOf(output: string, name: string): string {
  for (const [, block = ''] of output.matchAll(/\n\s*Error Trace:([\s\S]*?\n\s*Test:\s+\S+(?:\n\s*Messages:[^\n]*)?)/g)) {
    const test = /\n\s*Test:\s+(\S+)/.exec(block)?.[1] ?? '';
    if (test !== name && !test.startsWith(`${name}/`)) continue;
    const error = /\n\s*Error:([\s\S]*?)\n\s*Test:/.exec(block)?.[1] ?? '';
    const messages = /\n\s*Messages:\s*([^\n]*)/.exec(block)?.[1] ?? '';
    return [messages, error]
      .map((text) => text.replaceAll(/\s+/g, ' ').trim())
      .filter((text) => text !== '')
      .join(': ');
  }
  return 'see its log';
}

function excuseOf(output: string, name: string): string {
  const end = output.indexOf(`--- SKIP: ${name}`);
  return /_test\.go:\d+: (.*)\n?$/.exec(output.slice(0, end).trimEnd())?.[1] ?? 'it skips itself';
}

function brokenOff(output: string): string {
  return /^panic: (.*)$/m.exec(output)?.[1] ?? 'the test program ended before it';
}

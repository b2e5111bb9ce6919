import { stripVTControlCharacters } from 'node:util';
import type { Outcome } from '../outcome.ts';

/** The outcome of a function of the suite, which ends at its first failure. */
export function readShell({ code, output }: { readonly code: number; readonly output: string }): Outcome {
  if (code === 0) return { state: 'passed' };
  const said = stripVTControlCharacters(output);
  const failed = said.lastIndexOf('FAIL!');
  // The shell's call stack is not the reason for the failure.
  const end = said.indexOf('\n!!! [', Math.max(failed, 0));
  const part = said.slice(failed < 0 ? 0 : failed + 'FAIL!'.length, end < 0 ? undefined : end).trim();
  const lines = part.split('\n').filter((line) => !/^\d+ .*\.sh$/.test(line));
  return { state: 'failed', reason: (failed < 0 ? lines.slice(-1) : lines).join(' ').trim() || `it ended with ${code}` };
}

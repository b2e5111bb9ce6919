import { stripVTControlCharacters } from 'node:util';
import type { Outcome } from '../outcome.ts';

/** What a function of the suite said: it ends with the first thing that is not as expected. */
export function readShell({ code, output }: { readonly code: number; readonly output: string }): Outcome {
  if (code === 0) return { state: 'passed' };
  const said = stripVTControlCharacters(output);
  const failed = said.lastIndexOf('FAIL!');
  // Where the shell has been is not why it stopped.
  const end = said.indexOf('\n!!! [', Math.max(failed, 0));
  const part = said.slice(failed < 0 ? 0 : failed + 'FAIL!'.length, end < 0 ? undefined : end).trim();
  const lines = part.split('\n').filter((line) => !/^\d+ .*\.sh$/.test(line));
  return { state: 'failed', reason: (failed < 0 ? lines.slice(-1) : lines).join(' ').trim() || `it ended with ${code}` };
}

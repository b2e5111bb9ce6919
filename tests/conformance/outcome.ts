export type Outcome =
  | { readonly state: 'passed' }
  | { readonly state: 'failed'; readonly reason: string }
  /** Nothing was tested: the spec skipped itself, or was not run because something is missing. */
  | { readonly state: 'not applicable'; readonly reason: string };

/** Derives the outcome of a single spec from the exit code and output of its test program. */
export function readOutcome(ended: { readonly code: number; readonly output: string }): Outcome {
  const { code, output } = ended;
  const tally = /(\d+) Passed \| (\d+) Failed/.exec(output);
  if (tally === null) return { state: 'failed', reason: `the test program ended with ${code}: ${lastLine(output)}` };
  if (tally[2] !== '0' || code !== 0) return { state: 'failed', reason: firstFailure(output) ?? lastLine(output) };
  if (tally[1] !== '0') return { state: 'passed' };
  if (/Will run 0 of/.test(output)) return { state: 'failed', reason: 'the test program has no spec of this name' };
  const excuse = /^\s*\[SKIPPED\] (?!in )(.+)/m.exec(output)?.[1];
  return { state: 'not applicable', reason: excuse?.trim() ?? 'the spec skips itself' };
}

/** The message of the first failure, on one line, without its location. */
function firstFailure(output: string): string | undefined {
  const message = /^\s*\[(?:FAILED|PANICKED|TIMEDOUT|INTERRUPTED)\] (?!in )([\s\S]*?)\n\s*In \[\w+\] at: (\S+)/m.exec(output);
  if (message === null) return undefined;
  const place = message[2]!.slice(message[2]!.lastIndexOf('/') + 1);
  return `${message[1]!.replaceAll(/\s+/g, ' ').trim()} (${place})`;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1)?.trim() || 'no output';
}

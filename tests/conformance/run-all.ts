import { runSpec, type SpecRun, type SpecRunOptions } from './run-spec.ts';
import type { Spec } from './specs.ts';

export interface RunOptions extends SpecRunOptions {
  /** How many specs run at once. */
  readonly parallel: number;
  readonly onDone: (run: SpecRun, done: number) => void;
}

/** Runs all specs, some at a time, and gives what came of them in the order of the list. What needs a controller that is not there is not run. */
export async function runAll(specs: readonly Spec[], options: RunOptions): Promise<SpecRun[]> {
  const runs: SpecRun[] = [];
  const waiting = specs.entries();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const [index, spec] of waiting) {
      const run = spec.needs === undefined || options.controllers ? await runSpec(spec, options) : notRun(spec, spec.needs);
      runs[index] = run;
      options.onDone(run, ++done);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, work));
  return runs;
}

function notRun(spec: Spec, needs: string): SpecRun {
  return { spec, outcome: { state: 'not applicable', reason: `needs ${needs}` }, seconds: 0, output: '' };
}

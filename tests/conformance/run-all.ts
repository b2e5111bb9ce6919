import { runSpec, type SpecRun, type SpecRunOptions } from './run-spec.ts';
import type { Spec } from './specs.ts';

export interface RunOptions extends SpecRunOptions {
  /** How many specs run concurrently. */
  readonly parallel: number;
  readonly onDone: (run: SpecRun) => void;
}

/** Runs all specs, some at a time, and returns the outcomes in the order of the list. */
export async function runAll(specs: readonly Spec[], options: RunOptions): Promise<SpecRun[]> {
  const runs: SpecRun[] = [];
  const waiting = specs.entries();
  const work = async (): Promise<void> => {
    for (const [index, spec] of waiting) {
      const run = await runSpec(spec, options);
      runs[index] = run;
      options.onDone(run);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, work));
  return runs;
}

/** The outcome of a spec whose needs are not met. */
export function notRun(spec: Spec): SpecRun {
  return { spec, outcome: { state: 'not applicable', reason: `needs ${spec.needs?.what}` }, seconds: 0, output: '' };
}

import { run } from '@capstan/testbed';
import { type Outcome, readOutcome } from './outcome.ts';
import { focusPattern, type Spec } from './specs.ts';

export interface SpecRunOptions {
  readonly testProgram: string;
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** Whether controllers run beside the server, so that namespaces get their service account and can be emptied. */
  readonly controllers: boolean;
  /** In seconds. */
  readonly timeout: number;
}

export interface SpecRun {
  readonly spec: Spec;
  readonly outcome: Outcome;
  readonly seconds: number;
  /** The complete output of the test program. */
  readonly output: string;
}

/** Runs one spec in a separate process, so that specs can run side by side without breaking each other's state. */
export async function runSpec(spec: Spec, options: SpecRunOptions): Promise<SpecRun> {
  const started = performance.now();
  const ended = await run(
    options.testProgram,
    [
      ...[`--kubeconfig=${options.kubeconfig}`, `--kubectl-path=${options.kubectl}`],
      ...['--provider=local', '--num-nodes=0', '--allowed-not-ready-nodes=-1'],
      ...(options.controllers ? [] : ['--e2e-verify-service-account=false', '--delete-namespace=false']),
      // The program ends its spec, and everything that the spec started, at the timeout; it is killed only if it does not.
      ...['--ginkgo.no-color', `--ginkgo.timeout=${options.timeout}s`, '--ginkgo.focus', focusPattern(spec.name)],
    ],
    // Some specs call kubectl without naming the kubeconfig.
    { timeout: (options.timeout + 60) * 1000, environment: { KUBECONFIG: options.kubeconfig } },
  );
  const output = ended.stdout + ended.stderr;
  return {
    spec,
    outcome: readOutcome({ code: ended.code, output }),
    seconds: (performance.now() - started) / 1000,
    output,
  };
}

import { run } from '@capstan/testbed';
import { type Outcome, readOutcome } from './outcome.ts';
import { focusPattern, type Spec } from './specs.ts';

export interface SpecRunOptions {
  readonly testProgram: string;
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** Nodes that pods run on; none by default. */
  readonly nodes?: { readonly count: number; readonly command: (...command: readonly string[]) => readonly [string, ...string[]] };
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
  const nodes = options.nodes?.count ?? 0;
  const inPlace = options.nodes?.command ?? ((...command) => command as readonly string[] as [string, ...string[]]);
  const [program, ...args] = inPlace(
    options.testProgram,
    ...[
      ...[`--kubeconfig=${options.kubeconfig}`, `--kubectl-path=${options.kubectl}`],
      ...['--provider=local', `--num-nodes=${nodes}`, `--allowed-not-ready-nodes=${nodes === 0 ? -1 : 0}`],
      ...(options.controllers ? [] : ['--e2e-verify-service-account=false', '--delete-namespace=false']),
      // The program ends its spec, and everything that the spec started, at the timeout; it is killed only if it does not.
      ...['--ginkgo.no-color', `--ginkgo.timeout=${options.timeout}s`, '--ginkgo.focus', focusPattern(spec.name)],
    ],
  );
  // Some specs call kubectl without naming the kubeconfig.
  const ended = await run(program, args, { timeout: (options.timeout + 60) * 1000, environment: { KUBECONFIG: options.kubeconfig } });
  const output = ended.stdout + ended.stderr;
  return {
    spec,
    outcome: readOutcome({ code: ended.code, output }),
    seconds: (performance.now() - started) / 1000,
    output,
  };
}

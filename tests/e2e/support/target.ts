import { type StoreDriver, startCapstan, type TemporaryDirectory, type ToolName, temporaryDirectory } from '@capstan/testbed';
import { describeWith, type ToolPaths } from '@capstan/testbed/vitest';
import { afterAll, beforeAll } from 'vitest';

/** A server under test, and a namespace of its own in it. */
export interface Target {
  readonly kubeconfig: string;
  readonly namespace: string;
  /** For caches and histories of the programs. */
  readonly home: TemporaryDirectory;
}

export type TargetGetter = () => Target;

/** The needs of tests besides a server with default settings. */
export interface Needs<Name extends ToolName> {
  readonly tools: readonly Name[];
  readonly args: readonly string[];
}

const given = process.env['CAPSTAN_E2E_KUBECONFIG'];
const drivers: readonly StoreDriver[] = ['sqlite', 'etcd'];

/**
 * Runs the same tests against Capstan on every store driver. With CAPSTAN_E2E_KUBECONFIG they run against that server instead: tests that
 * pass on a kube-apiserver must pass on ours. The target exists only while tests run, so the body gets a function.
 */
export async function describeServers<Name extends ToolName>(
  title: string,
  needs: readonly Name[] | Needs<Name>,
  body: (target: TargetGetter, paths: ToolPaths<Name>) => void,
): Promise<void> {
  const { tools, args } = 'tools' in needs ? needs : { tools: needs, args: [] };
  for (const driver of given === undefined ? drivers : (['given'] as const)) {
    const etcd: readonly ToolName[] = driver === 'etcd' ? ['etcd'] : [];
    await describeWith<ToolName>([...tools, ...etcd], `${title} on ${driver}`, (paths) => {
      let target: Target | undefined;
      const stack = new AsyncDisposableStack();
      beforeAll(async () => {
        const home = stack.use(temporaryDirectory('home'));
        const kubeconfig = driver === 'given' ? given! : stack.use(await startCapstan({ store: driver, args })).kubeconfig;
        target = { kubeconfig, home, namespace: `e2e-${Date.now().toString(36)}-${process.pid}` };
      });
      afterAll(() => stack.disposeAsync());
      body(
        () => {
          if (target === undefined) throw new Error('the server was used before it started: use it inside a test or hook');
          return target;
        },
        paths as ToolPaths<Name>,
      );
    });
  }
}

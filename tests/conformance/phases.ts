import { controllersBesideCapstan, type RunningCapstan, startControllerManager, startKubeControllerManager } from '@capstan/testbed';
import { notRun } from './run-all.ts';
import type { SpecRun } from './run-spec.ts';
import type { Spec } from './specs.ts';

type RunSpecs = (specs: readonly Spec[]) => Promise<readonly SpecRun[]>;

/**
 * Groups specs by their needs: those that need only our controllers never run with Kubernetes' own. Returns the outcomes in the order of
 * the list.
 */
export async function runInPhases(server: RunningCapstan, specs: readonly Spec[], runSpecs: RunSpecs): Promise<SpecRun[]> {
  const runs = new Map<Spec, SpecRun>();
  const keep = (done: readonly SpecRun[]): void => {
    for (const run of done) runs.set(run.spec, run);
  };
  const workloads = specs.filter(({ needs }) => needs?.from === 'kubernetes');
  keep(specs.filter(({ needs }) => needs?.from === 'a node').map(notRun));
  await using _manager = await startControllerManager(server);
  keep(await runSpecs(specs.filter((spec) => !runs.has(spec) && !workloads.includes(spec))));
  if (workloads.length > 0) {
    await using _workloads = await startKubeControllerManager(server, { controllers: controllersBesideCapstan });
    keep(await runSpecs(workloads));
  }
  return specs.map((spec) => runs.get(spec)!);
}

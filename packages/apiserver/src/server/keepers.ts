import { PolicyKeeper } from '../admission/policies/keeper.ts';
import { MutatingPolicyKeeper } from '../admission/policies/mutating/keeper.ts';
import { keepApiServices } from '../bootstrap/api-services.ts';
import { keepFlowSchemaStatus } from '../bootstrap/flow-schemas.ts';
import type { Definitions } from '../crds/definitions.ts';
import { DefinitionKeeper } from '../crds/keeper.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Quarantine } from '../registry/quarantine.ts';
import type { Workspaces } from './workspaces.ts';

export interface KeepersOptions {
  readonly definitions: Definitions;
  readonly boundKinds: Workspaces['boundKinds'];
  readonly resources: AsyncDisposableStack;
  readonly quarantine: Quarantine;
  readonly now: () => Date;
  readonly log: (line: string) => void;
}

/** Begins to keep what requests depend on at once: which definitions are served, and what policies and flow schemas say of themselves. */
export async function startKeepers(
  serving: Serving,
  { definitions, boundKinds, resources, quarantine, now, log }: KeepersOptions,
): Promise<void> {
  const keeper = resources.use(
    new DefinitionKeeper({
      serving,
      definitions,
      boundIn: (cluster, group) => boundKinds.in(cluster)?.inGroup(group) ?? [],
      quarantine,
      now,
      onError: (error) => log(`a custom resource definition could not be served: ${String(error)}`),
    }),
  );
  boundKinds.listeners.add((cluster) => keeper.look(cluster));
  await keepApiServices(serving, {
    definitions,
    now,
    onError: (error) => log(`what is served could not be registered: ${String(error)}`),
  });
  const policyKeeping = {
    backend: serving,
    catalogs: serving.catalogs,
    quarantine,
    now,
    onError: (error: unknown) => log(`an admission policy could not be checked: ${String(error)}`),
  };
  resources.use(new PolicyKeeper(policyKeeping));
  resources.use(MutatingPolicyKeeper.start(policyKeeping));
  keepFlowSchemaStatus(serving, now, (error) => log(`the status of flow schemas could not be written: ${String(error)}`));
}

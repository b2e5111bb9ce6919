import { apiConversionKind, type KindReference, workspaceAuthenticationKind } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { PolicyKeeper } from '../admission/policies/keeper.ts';
import { evaluatedPolicy } from '../admission/policies/policy.ts';
import { evaluatedWebhooks } from '../admission/webhooks/hook.ts';
import { keepApiServices } from '../bootstrap/api-services.ts';
import { keepFlowSchemaStatus } from '../bootstrap/flow-schemas.ts';
import type { Definitions } from '../crds/definitions.ts';
import { DefinitionKeeper } from '../crds/keeper.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Evaluated, Quarantine } from '../registry/quarantine.ts';
import { QuarantineMarks } from '../upkeep/quarantine-marks.ts';
import { evaluatedConfiguration } from '../workspaces/authentication.ts';
import { evaluatedConversion } from '../workspaces/conversions/rule-conversion.ts';
import type { Workspaces } from './workspaces.ts';

export interface KeepersOptions {
  readonly definitions: Definitions;
  readonly boundKinds: Workspaces['boundKinds'];
  /** kcp's kinds. */
  readonly platform: Workspaces['platform'];
  readonly resources: AsyncDisposableStack;
  readonly quarantine: Quarantine;
  readonly now: () => Date;
  readonly log: (line: string) => void;
}

const admission = 'admissionregistration.k8s.io';

/** Kinds with expressions that have no status for the condition `Quarantined`. */
const withoutStatus: readonly {
  readonly kind: Pick<KindReference, 'group' | 'version' | 'resource'>;
  readonly evaluated: (object: KubeObject) => Evaluated;
}[] = [
  { kind: { group: admission, version: 'v1beta1', resource: 'mutatingadmissionpolicies' }, evaluated: evaluatedPolicy },
  { kind: { group: admission, version: 'v1', resource: 'validatingwebhookconfigurations' }, evaluated: evaluatedWebhooks },
  { kind: { group: admission, version: 'v1', resource: 'mutatingwebhookconfigurations' }, evaluated: evaluatedWebhooks },
  { kind: apiConversionKind, evaluated: evaluatedConversion },
  { kind: workspaceAuthenticationKind, evaluated: evaluatedConfiguration },
];

/** Begins to keep what requests depend on at once: which definitions are served, and what policies and flow schemas say of themselves. */
export async function startKeepers(
  serving: Serving,
  { definitions, boundKinds, platform, resources, quarantine, now, log }: KeepersOptions,
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
    onError: (error: unknown) => log(`the state of a policy, or the mark of its quarantine, could not be written: ${String(error)}`),
  };
  resources.use(new PolicyKeeper(policyKeeping));
  const catalog = serving.catalogs.builtin.with(platform.all);
  for (const { kind, evaluated } of withoutStatus) {
    const resource = catalog.resource(kind.group, kind.version, kind.resource);
    // Kubernetes does not serve mutating policies by default.
    if (resource !== undefined) resources.use(new QuarantineMarks({ ...policyKeeping, resource, evaluated }));
  }
  keepFlowSchemaStatus(serving, now, (error) => log(`the status of flow schemas could not be written: ${String(error)}`));
}

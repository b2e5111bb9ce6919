import { accountTokenController } from './account-tokens/controller.ts';
import { bindingController } from './apis/bindings/controller.ts';
import { defaultBindingController } from './apis/default-bindings/controller.ts';
import { defaultBindingCreation } from './apis/default-bindings/creation.ts';
import { endpointSliceController } from './apis/endpoint-slices/controller.ts';
import { exportController } from './apis/exports/controller.ts';
import { schemaCopyController } from './apis/schemas/controller.ts';
import { CountController } from './caching/counts/controller.ts';
import { cachedResourceController } from './caching/resources/controller.ts';
import { cachedSliceController } from './caching/slices/controller.ts';
import { csrApproving, csrCleaning, csrSigning, nodeAgentCertificates } from './certificates/controller.ts';
import { GarbageCollector } from './garbage/controller.ts';
import { identityLeaseController } from './identity-leases/controller.ts';
import { namespaceDefaultsController } from './namespace-defaults/controller.ts';
import { namespaceController } from './namespaces/controller.ts';
import { QuotaController } from './quotas/controller.ts';
import type { Registration } from './registration.ts';
import { RoleAggregation } from './role-aggregation/controller.ts';
import { claimProtection, volumeClassProtection, volumeProtection } from './storage-protection/controller.ts';
import { logicalClusterController } from './tenancy/logical-clusters/controller.ts';
import { platformTree } from './tenancy/platform-tree/controller.ts';
import { workspaceTypeController } from './tenancy/workspace-types/controller.ts';
import { workspaceController } from './tenancy/workspaces/controller.ts';
import { partitionSetController } from './topology/partition-sets/controller.ts';
import { unscheduledPods } from './unscheduled-pods/controller.ts';

export { type ControllerSettings, chosenControllers, type Registration, type SigningSettings } from './registration.ts';

/** Every controller of the controller-manager. */
export const controllers: readonly Registration[] = [
  { name: 'namespace', account: 'namespace-controller', make: namespaceController },
  { name: 'namespace-defaults', account: 'namespace-defaults-controller', make: namespaceDefaultsController },
  { name: 'garbage-collector', account: 'generic-garbage-collector', make: (settings) => new GarbageCollector(settings) },
  { name: 'resourcequota', account: 'resourcequota-controller', make: (settings) => new QuotaController(settings) },
  { name: 'account-tokens', account: 'account-token-controller', make: accountTokenController },
  { name: 'identity-leases', account: 'identity-lease-controller', rootOnly: true, make: identityLeaseController },
  { name: 'role-aggregation', account: 'clusterrole-aggregation-controller', make: () => new RoleAggregation() },
  { name: 'pvc-protection', account: 'pvc-protection-controller', rootOnly: true, make: claimProtection },
  { name: 'pv-protection', account: 'pv-protection-controller', rootOnly: true, make: volumeProtection },
  { name: 'vac-protection', account: 'volumeattributesclass-protection-controller', rootOnly: true, make: volumeClassProtection },
  { name: 'unscheduled-pods', account: 'unscheduled-pod-controller', rootOnly: true, make: unscheduledPods },
  { name: 'workspace', account: 'workspace-controller', make: workspaceController },
  { name: 'logical-cluster', account: 'workspace-controller', make: logicalClusterController },
  { name: 'workspace-type', account: 'workspace-controller', make: workspaceTypeController },
  { name: 'platform-tree', account: 'workspace-controller', make: platformTree },
  { name: 'partitionset', account: 'partition-controller', make: partitionSetController },
  { name: 'apiexport', account: 'api-sharing-controller', make: exportController },
  { name: 'apiexportendpointslice', account: 'api-sharing-controller', make: endpointSliceController },
  { name: 'apibinding', account: 'api-sharing-controller', make: bindingController },
  { name: 'default-bindings', account: 'api-sharing-controller', make: defaultBindingController },
  { name: 'default-binding-creation', account: 'api-sharing-controller', make: defaultBindingCreation },
  { name: 'apiresourceschema-cleanup', account: 'api-sharing-controller', make: schemaCopyController },
  { name: 'cachedresource', account: 'api-sharing-controller', make: cachedResourceController },
  { name: 'cachedresource-counts', account: 'api-sharing-controller', make: () => new CountController() },
  { name: 'cachedresourceendpointslice', account: 'api-sharing-controller', make: cachedSliceController },
  { name: 'csr-approving', account: 'certificate-controller', rootOnly: true, make: csrApproving },
  { name: 'csr-signing', account: 'certificate-controller', rootOnly: true, make: csrSigning },
  { name: 'csr-cleaning', account: 'certificate-controller', rootOnly: true, make: csrCleaning },
  { name: 'node-agent-certificates', account: 'platform-certificate-controller', rootOnly: true, make: nodeAgentCertificates },
];

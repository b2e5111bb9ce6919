import { registration as accountTokens } from './account-tokens/registration.ts';
import { registration as bindings } from './apis/bindings/registration.ts';
import { registration as defaultBindingClaims } from './apis/default-bindings/accepting/registration.ts';
import { registration as defaultBindingCreation } from './apis/default-bindings/creating/registration.ts';
import { registration as endpointSlices } from './apis/endpoint-slices/registration.ts';
import { registration as exports } from './apis/exports/registration.ts';
import { registration as schemaCopies } from './apis/schemas/registration.ts';
import { registration as bootstrapTokens } from './bootstrap-tokens/registration.ts';
import { registration as cachedResourceCounts } from './caching/counts/registration.ts';
import { registration as cachedResources } from './caching/resources/registration.ts';
import { registration as cachedSlices } from './caching/slices/registration.ts';
import { registration as csrApproving } from './certificates/approving/registration.ts';
import { registration as csrCleaning } from './certificates/cleaning/registration.ts';
import { registration as csrSigning } from './certificates/signing/registration.ts';
import { registration as garbage } from './garbage/registration.ts';
import { registration as identityLeases } from './identity-leases/registration.ts';
import { registration as namespaceDefaults } from './namespace-defaults/registration.ts';
import { registration as namespaces } from './namespaces/registration.ts';
import { registration as quotas } from './quotas/registration.ts';
import type { Registration } from './registration.ts';
import { registration as roleAggregation } from './role-aggregation/registration.ts';
import { registration as claimProtection } from './storage-protection/claims/registration.ts';
import { registration as volumeClassProtection } from './storage-protection/volume-classes/registration.ts';
import { registration as volumeProtection } from './storage-protection/volumes/registration.ts';
import { registration as logicalClusters } from './tenancy/logical-clusters/registration.ts';
import { registration as platformTree } from './tenancy/platform-tree/registration.ts';
import { registration as workspaceTypes } from './tenancy/workspace-types/registration.ts';
import { registration as workspaces } from './tenancy/workspaces/registration.ts';
import { registration as partitionSets } from './topology/partition-sets/registration.ts';
import { registration as unscheduledPods } from './unscheduled-pods/registration.ts';

export { type AddingOptions, addControllers } from './adding.ts';
export { type ControllerSettings, chosenControllers, type Registration, type SigningSettings } from './registration.ts';

/** Every controller of the controller-manager. */
export const controllers: readonly Registration[] = [
  namespaces,
  namespaceDefaults,
  garbage,
  quotas,
  accountTokens,
  identityLeases,
  bootstrapTokens,
  roleAggregation,
  claimProtection,
  volumeProtection,
  volumeClassProtection,
  unscheduledPods,
  workspaces,
  logicalClusters,
  workspaceTypes,
  platformTree,
  partitionSets,
  exports,
  endpointSlices,
  bindings,
  defaultBindingClaims,
  defaultBindingCreation,
  schemaCopies,
  cachedResources,
  cachedResourceCounts,
  cachedSlices,
  csrApproving,
  csrSigning,
  csrCleaning,
];

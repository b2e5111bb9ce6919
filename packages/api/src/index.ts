export * from './apps/access.ts';
export * from './apps/admin-certificate.ts';
export * from './apps/app.ts';
export * from './apps/app-instance.ts';
export * from './apps/app-member.ts';
export * from './apps/app-operation.ts';
export {
  type AllowedAction,
  type AppConstraint,
  type AppError,
  type AppHealth,
  type AppResidue,
  appHealths,
  appInstanceLabel,
  appPreviewAnnotation,
  appsGroup,
  finalOperationStates,
  type LastOperation,
  type OperationState,
  operationStates,
} from './apps/fields.ts';
export * from './apps/kubeconfig.ts';
export * from './apps/reports.ts';
export * from './capstan/accounts.ts';
export * from './capstan/agent-archives.ts';
export * from './capstan/artifacts.ts';
export * from './capstan/audit.ts';
export { boundObjects } from './capstan/bound-objects.ts';
export * from './capstan/node-accounts.ts';
export * from './capstan/node-pages.ts';
export { appliedAnnotation, builtInKindsAnnotation, platformWorkspace, productsNamespace } from './capstan/platform.ts';
export * from './capstan/problems.ts';
export { serverLeaseAnnotations, serverLeaseLabel } from './capstan/server-leases.ts';
export * from './capstan/session-tokens.ts';
export * from './capstan/unit-logs.ts';
export * from './capstan/usage.ts';
export type {
  CreatedWorkspace,
  DefaultBindingsState,
  ImportedWorkspace,
  PurgedWorkspace,
  WorkspaceCreation,
} from './capstan/workspace-pages.ts';
export * from './compute/allocation.ts';
export { computeGroup, type Strength } from './compute/fields.ts';
export * from './compute/gpu-storage.ts';
export * from './compute/gpu-unit.ts';
export * from './compute/offering.ts';
export * from './compute/usage.ts';
export { definedKinds } from './defined-kinds.ts';
export type { Condition } from './definition/common.ts';
export * as common from './definition/common.ts';
export { kindChanges } from './definition/compatibility/kind-changes.ts';
export { customResourceDefinition } from './definition/custom-resource-definition.ts';
export * from './definition/define-kind.ts';
export type { Measure } from './definition/measure.ts';
export { objectSchema } from './definition/object-schema.ts';
export { modernSchema, openApiComponents } from './definition/openapi.ts';
export { referencePage } from './definition/reference-page.ts';
export { resourceSchemaSpec } from './definition/resource-schema.ts';
export type { ReadOf, Rule, Schema, WrittenOf } from './definition/schema.ts';
export * as schema from './definition/schema.ts';
export * from './fleet/booking.ts';
export * from './fleet/cleaning.ts';
export { fleetGroup } from './fleet/fields.ts';
export * from './fleet/gpu-node.ts';
export * from './fleet/gpus.ts';
export * from './fleet/join-command.ts';
export * from './fleet/node-enrollment.ts';
export type { NodeAddress, NodeDriver, NodeGpu, NodeMachine, NodeUnitDriver, UnitIsolation } from './fleet/node-inventory.ts';
export * from './fleet/node-metrics.ts';
export * from './fleet/node-script.ts';
export * from './fleet/node-task.ts';
export * from './fleet/node-unit.ts';
export * from './fleet/node-volume.ts';
export * from './fleet/quota.ts';
export * from './fleet/reservation.ts';
export { taskSecretLabel } from './fleet/task-secret.ts';
export * from './fleet/task-types.ts';
export * from './kcp/apis.ts';
export * from './kcp/cache.ts';
export * from './kcp/clusters.ts';
export * from './kcp/conditions.ts';
export * from './kcp/facts.ts';
export * from './kcp/tenancy.ts';
export * from './kcp/topology.ts';
export * from './kcp/workspace-status.ts';
export { groupResource, type KindReference, type StoredKind } from './kind.ts';
export * from './kubernetes/user.ts';
export { measures } from './measures.ts';
export * from './operator/operator-job.ts';
export * from './storages/copies.ts';
export { type StorageHelperOptions, storageHelper, storageHelperRoot } from './storages/helper-unit.ts';
export type { StorageDownload } from './storages/preparation.ts';
export { directoryLabel, type SharedDirectory } from './storages/shared-directory.ts';
export { millisecondsIn } from './units/duration.ts';
export * from './units/outcome.ts';
export * from './units/program.ts';

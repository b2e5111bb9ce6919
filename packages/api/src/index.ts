export { controllerManagerUser, nodeAgentGroup } from './capstan/accounts.ts';
export type {
  CreatedWorkspace,
  DefaultBindingsState,
  ImportedWorkspace,
  PurgedWorkspace,
  WorkspaceCreation,
} from './capstan/workspace-pages.ts';
export * from './kcp/apis.ts';
export * from './kcp/cache.ts';
export * from './kcp/clusters.ts';
export * from './kcp/conditions.ts';
export * from './kcp/facts.ts';
export * from './kcp/tenancy.ts';
export * from './kcp/topology.ts';
export * from './kcp/workspace-status.ts';
export { groupResource, type KindReference } from './kind.ts';
export { superuserGroup, type User } from './kubernetes/user.ts';

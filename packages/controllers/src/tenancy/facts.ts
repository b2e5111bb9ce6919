/** The names that kcp's clients know. The API server uses the same. */
export const typeAnnotation = 'internal.tenancy.kcp.io/type';
export const clusterIdAnnotation = 'internal.tenancy.kcp.io/cluster';
export const shardAnnotation = 'internal.tenancy.kcp.io/shard';
export const ownerAnnotation = 'experimental.tenancy.kcp.io/owner';
export const pathAnnotation = 'kcp.io/path';
export const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';
/** A shard with this annotation gets no new workspaces. */
export const unschedulableAnnotation = 'experimental.core.kcp.io/unschedulable';

export const phaseLabel = 'tenancy.kcp.io/phase';

export const workspaceFinalizer = 'core.kcp.io/logicalcluster';
export const contentFinalizer = 'core.kcp.io/logicalcluster-deletion';
export const terminatorsFinalizer = 'kcp.io/has-terminators';
export const bindingsInitializer = 'system:apibindings';

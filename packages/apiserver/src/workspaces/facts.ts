/** The names that kcp's clients and controllers know. */

/** Of which type a workspace is, as `path:name`. Stands on its LogicalCluster. */
export const typeAnnotation = 'internal.tenancy.kcp.io/type';
/** The id that a Workspace will get. It is chosen before anything is made under it, so that whoever resumes uses the same. */
export const clusterIdAnnotation = 'internal.tenancy.kcp.io/cluster';
/** Which shard a Workspace is on: a hash of the shard's name. */
export const shardAnnotation = 'internal.tenancy.kcp.io/shard';
/** Who created a workspace, as JSON: the first to be let in. */
export const ownerAnnotation = 'experimental.tenancy.kcp.io/owner';
export const pathAnnotation = 'kcp.io/path';
export const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';
/** A workspace that says "true" here is closed. */
export const inactiveAnnotation = 'internal.kcp.io/inactive';

export const phaseLabel = 'tenancy.kcp.io/phase';
export const initializerLabelPrefix = 'initializer.internal.kcp.io/';
export const terminatorLabelPrefix = 'terminator.internal.kcp.io/';

/** On a Workspace, until its logical cluster is gone. */
export const workspaceFinalizer = 'core.kcp.io/logicalcluster';
/** On a LogicalCluster, until the workspace is empty. */
export const contentFinalizer = 'core.kcp.io/logicalcluster-deletion';
/** On a LogicalCluster, as long as somebody wants to do something before the workspace ends. */
export const terminatorsFinalizer = 'kcp.io/has-terminators';

/** Gone when the APIs that a workspace's type binds are bound. */
export const bindingsInitializer = 'system:apibindings';
/** The platform's own: what it stands for is written with the workspace. */
export const universalInitializer = 'root:universal';

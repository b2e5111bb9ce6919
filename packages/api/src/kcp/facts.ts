/** Annotations, labels, finalizers and initializers that kcp's clients and controllers know. */

/** On a LogicalCluster: the type of the workspace, as `path:name`. */
export const typeAnnotation = 'internal.tenancy.kcp.io/type';
/** On a Workspace: the id that it will get. It is chosen before anything is created under it, so that a retry uses the same one. */
export const clusterIdAnnotation = 'internal.tenancy.kcp.io/cluster';
/** On a Workspace: the hash of the name of its shard. */
export const shardAnnotation = 'internal.tenancy.kcp.io/shard';
/** The user who created a workspace, as JSON. They become its first administrator. */
export const ownerAnnotation = 'experimental.tenancy.kcp.io/owner';
export const pathAnnotation = 'kcp.io/path';
/** On every object that is served: the id of its workspace. The server sets it from where the object is stored and ignores what clients send. */
export const clusterAnnotation = 'kcp.io/cluster';
export const requiredGroupsAnnotation = 'authorization.kcp.io/required-groups';
/** On a LogicalCluster: "true" closes the workspace. */
export const inactiveAnnotation = 'internal.kcp.io/inactive';
/** On a Shard: it gets no new workspaces. */
export const unschedulableAnnotation = 'experimental.core.kcp.io/unschedulable';

export const phaseLabel = 'tenancy.kcp.io/phase';
export const initializerLabelPrefix = 'initializer.internal.kcp.io/';
export const terminatorLabelPrefix = 'terminator.internal.kcp.io/';
/** On an APIBinding: the export that it binds, so that all bindings of one export can be selected. */
export const exportLabel = 'internal.apis.kcp.io/export';
/** Prefix of the labels that say which providers have claimed an object. They are served, but never stored. */
export const claimLabelPrefix = 'claimed.internal.apis.kcp.io/';

/** On a Workspace, until its LogicalCluster is gone. */
export const workspaceFinalizer = 'core.kcp.io/logicalcluster';
/** On a LogicalCluster, until the workspace is empty. */
export const contentFinalizer = 'core.kcp.io/logicalcluster-deletion';
/** On a LogicalCluster, while terminators are left. */
export const terminatorsFinalizer = 'kcp.io/has-terminators';
/** On an APIBinding, until all objects of the bound kinds are gone. */
export const bindingFinalizer = 'apis.kcp.io/apibinding-finalizer';

/** Removed once the APIs that the workspace's type binds by default are bound. */
export const bindingsInitializer = 'system:apibindings';
/** The platform's own initializer. Its objects are created together with the workspace. */
export const universalInitializer = 'root:universal';

/** The namespaces that the server creates with a workspace, with the objects that every namespace has. Tools that install themselves into a cluster expect the second. */
export const firstNamespaces: readonly string[] = ['default', 'kube-system'];

declare const clusterIdBrand: unique symbol;

/**
 * The id of a workspace that exists, or `*` for all of them. Only resolving a path yields one: text that a client sent is never a ClusterId.
 */
export type ClusterId = string & { readonly [clusterIdBrand]: true };

/** Turns text into an id without looking it up: for ids that the platform itself chose or stored. */
export const asClusterId = (text: string): ClusterId => text as ClusterId;

/** The top of the tree of workspaces, and the workspace of requests that name none. */
export const rootCluster = asClusterId('root');

/** Roles and bindings in here apply to every workspace. Only the platform has access. */
export const adminCluster = asClusterId('system:admin');

/** Holds copies of bound schemas, so that bound kinds outlive the workspace of their provider. Only the platform has access. */
export const boundSchemasCluster = asClusterId('system:bound-crds');

/** Stands for every workspace. */
export const everyCluster = asClusterId('*');

/** The name of the one LogicalCluster that every workspace has. The workspace exists as long as this object does. */
export const logicalClusterName = 'cluster';

const segment = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const pathPattern = new RegExp(`^${segment}(?::${segment})*$`);

/** Longer than the path of any workspace that can be created. */
const longestPath = 1024;

/** Whether text is the id of a workspace, or its path: the names from the top of the tree down to it, separated by colons. */
export const isPath = (text: string): boolean => text.length <= longestPath && pathPattern.test(text);

declare const clusterIdBrand: unique symbol;
declare const pathBrand: unique symbol;

/**
 * The id of a workspace that exists, or `*` for all of them. Only resolving a path yields one: text that a client sent is never a ClusterId.
 */
export type ClusterId = string & { readonly [clusterIdBrand]: true };

/**
 * Text with the form of a path or an id of a workspace: the names from the top of the tree down to it, separated by colons. Nothing has been looked up, so a
 * workspace need not exist there.
 */
export type WorkspacePath = string & { readonly [pathBrand]: true };

/** Turns text into an id without looking it up: for ids that the platform itself chose or stored. */
export const asClusterId = (text: string): ClusterId => text as ClusterId;

/** The top of the tree of workspaces, and the workspace of requests that name none. */
export const rootCluster = asClusterId('root');

/** Roles and bindings in here apply to every workspace. Only the platform has access. */
export const adminCluster = asClusterId('system:admin');

/** Holds copies of bound schemas, so that bound kinds outlive the workspace of their provider. Only the platform has access. */
export const boundSchemasCluster = asClusterId('system:bound-crds');

/** Stands for every workspace. */
export const everyCluster = '*' as ClusterId & '*';

/** The name of the one LogicalCluster that every workspace has. The workspace exists as long as this object does. */
export const logicalClusterName = 'cluster';

const segment = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const pathPattern = new RegExp(`^${segment}(?::${segment})*$`);

/** Longer than the path of any workspace that can be created. */
const longestPath = 1024;

export const isPath = (text: string): text is WorkspacePath => text.length <= longestPath && pathPattern.test(text);

/** The workspace that is there from the beginning: the top of the tree, and what requests mean that name none. */
export const rootCluster = 'root';

/** Roles and bindings here hold in every workspace. Only the platform enters it. */
export const adminCluster = 'system:admin';

/** Stands for every workspace. */
export const everyCluster = '*';

/** What objects carry to say which workspace they are of. It is taken from where they lie, never from what was written. */
export const clusterAnnotation = 'kcp.io/cluster';

const segment = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const pathPattern = new RegExp(`^${segment}(?::${segment})*$`);

/** Longer than any path of workspaces that can be made. */
const longestPath = 1024;

/** A workspace's id, or the names from the top of the tree down to it with colons between them. */
export const isPath = (text: string): boolean => text.length <= longestPath && pathPattern.test(text);

/** The workspace of an object, from its key in the cache. */
export const clusterOfKey = (key: string): string => key.slice(0, key.indexOf('/'));

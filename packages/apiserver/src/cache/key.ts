/** The workspace of an object, from its key in the cache. */
export const clusterOfKey = (key: string): string => key.slice(0, key.indexOf('/'));

import { asClusterId, type ClusterId } from '@capstan/api';

/** The workspace of an object, from its key in the cache. */
export const clusterOfKey = (key: string): ClusterId => asClusterId(key.slice(0, key.indexOf('/')));

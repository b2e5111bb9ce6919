import type { ResourceType } from '@capstan/client';

/** A collection at the API server, taken apart. */
export interface Collection {
  /** Before `/api` or `/apis`: the workspace, or a view. */
  readonly prefix: string;
  readonly type: ResourceType;
  readonly namespace: string | undefined;
}

const pattern = /^((?:\/[^/?#%\\]+)*?)\/(?:api\/(v\d\w*)|apis\/([^/?#%\\]+)\/(v\d\w*))(?:\/namespaces\/([^/?#%\\]+))?\/([a-z][\w.-]*)$/;

/** Undefined if the path is not that of a collection. */
export function parseCollection(path: string): Collection | undefined {
  const found = pattern.exec(path.replaceAll(/%3a/gi, ':'));
  if (found === null || path.split('/').some((one) => one === '.' || one === '..')) return undefined;
  const [, prefix = '', core, group = '', version, namespace, resource = ''] = found;
  return { prefix, namespace, type: { group, version: core ?? version!, resource, namespaced: namespace !== undefined } };
}

import type { User } from '@capstan/api';
import type { Attributes } from '../authz/attributes.ts';
import type { ParsedRequest } from '../request/info.ts';

/** The authorization attributes of a request. */
export function attributesOf<Cluster extends string>(
  info: Omit<ParsedRequest, 'cluster'> & { readonly cluster: Cluster },
  user: User,
): Attributes<Cluster> {
  const { cluster, verb, isResource, group, version, resource, subresource, namespace, name, path } = info;
  const attributes = { cluster, user, verb, isResource, group, version, resource, subresource, namespace, name, path };
  if (info.query.isEmpty || !selecting.has(verb)) return attributes;
  const [field, label] = [info.query.get('fieldSelector') ?? '', info.query.get('labelSelector') ?? ''];
  return field === '' && label === '' ? attributes : { ...attributes, selectors: { field, label } };
}

const selecting: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

import { fieldError, type StatusError, status } from '@capstan/machinery';
import type { Attributes } from './attributes.ts';

/** The error for a denied request. `reason` is that of the decision. */
export function forbidden(attributes: Attributes<string>, reason: string): StatusError {
  const message = withoutMarkup(whatIsForbidden(attributes));
  const { group, resource, name } = attributes;
  return status.forbidden({ group, resource }, name, reason === '' ? message : `${message}: ${reason}`);
}

function whatIsForbidden({ user, verb, isResource, path, resource, subresource, group, namespace }: Attributes<string>): string {
  const who = `User ${fieldError.quote(user.name)} cannot ${verb}`;
  if (!isResource) return `${who} path ${fieldError.quote(path)}`;
  const what = fieldError.quote(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${fieldError.quote(namespace)}`;
  return `${who} resource ${what} in API group ${fieldError.quote(group)} ${where}`;
}

/** Paths and names come from the client, and a browser must not interpret them as HTML. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

import type { PolicyRule } from '@capstan/machinery';
import type { Attributes } from './attributes.ts';

export type { PolicyRule } from '@capstan/machinery';

const none: readonly string[] = [];

export function ruleAllows(rule: PolicyRule, request: Attributes): boolean {
  if (!hasOrAll(rule.verbs, request.verb)) return false;
  if (!request.isResource) return (rule.nonResourceURLs ?? none).some((url) => urlMatches(url, request.path));
  return (
    hasOrAll(rule.apiGroups, request.group) &&
    resourceMatches(rule.resources ?? none, request.resource, request.subresource) &&
    nameMatches(rule.resourceNames, request.name)
  );
}

function hasOrAll(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes(value) || list.includes('*'));
}

function resourceMatches(listed: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === '') return listed.includes(resource) || listed.includes('*');
  for (const entry of listed) {
    if (entry === '*') return true;
    // `pods/log`, `*/log`
    if (!entry.endsWith(subresource)) continue;
    const slash = entry.length - subresource.length - 1;
    if (entry.charCodeAt(slash) !== 47) continue;
    if (slash === 1 && entry.charCodeAt(0) === 42) return true;
    if (slash === resource.length && entry.startsWith(resource)) return true;
  }
  return false;
}

function nameMatches(names: readonly string[] | undefined, name: string): boolean {
  return names === undefined || names.length === 0 || names.includes(name);
}

/** Whether a URL pattern of a rule matches a path: exactly, or as a prefix if the pattern ends with stars. */
export function urlMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === '*') end--;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}

import type { PolicyRule } from '../authz/rule.ts';

/**
 * Rules by role, one line each: verbs, resources, `@` API groups (default: the core group), `#` resource names; lists are separated by
 * commas. `url:` instead of resources lists non-resource paths. `read`, `write` and `all` are short for the usual verbs.
 */
export type RuleTable = Readonly<Record<string, readonly string[]>>;

export const recordEvents = 'create,patch,update events @,events.k8s.io';

const verbs = new Map([
  ['read', 'get,list,watch'],
  ['write', 'create,delete,deletecollection,patch,update'],
  ['all', 'create,delete,deletecollection,get,list,patch,update,watch'],
]);

export function parseRule(line: string): PolicyRule {
  const [verbList, target, ...rest] = line.split(' ') as [string, string, ...string[]];
  const rule = { verbs: (verbs.get(verbList) ?? verbList).split(',') };
  if (target.startsWith('url:')) return { ...rule, nonResourceURLs: target.slice(4).split(',') };
  const after = (mark: string): string[] | undefined =>
    rest
      .find((part) => part.startsWith(mark))
      ?.slice(1)
      .split(',');
  const resourceNames = after('#');
  return { ...rule, apiGroups: after('@') ?? [''], resources: target.split(','), ...(resourceNames && { resourceNames }) };
}

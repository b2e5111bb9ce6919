import { type Fields, itemsOf, textOf, textsOf } from '@capstan/machinery';
import type { Operation } from '../../registry/admission.ts';

/** The input of a rule: a resource in one version, and the operation. */
export interface Asked {
  readonly operation: Operation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** False for namespaces themselves. */
  readonly inNamespace: boolean;
  readonly name: string;
}

/** One of the `rules` of a webhook or policy, parsed. */
export interface Rule {
  readonly operations: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
  readonly resources: readonly { readonly resource: string; readonly subresource: string }[];
  readonly scope: string;
  /** Undefined matches any name. */
  readonly names: ReadonlySet<string> | undefined;
}

export function rulesOf(value: unknown): readonly Rule[] {
  return itemsOf(value).map(ruleOf);
}

function ruleOf(rule: Fields): Rule {
  const names = textsOf(rule['resourceNames']);
  return {
    operations: new Set(textsOf(rule['operations'])),
    groups: new Set(textsOf(rule['apiGroups'])),
    versions: new Set(textsOf(rule['apiVersions'])),
    resources: textsOf(rule['resources']).map(resourceOf),
    scope: textOf(rule['scope']) || '*',
    names: names.length === 0 ? undefined : new Set(names),
  };
}

function resourceOf(text: string): { resource: string; subresource: string } {
  const slash = text.indexOf('/');
  return slash < 0 ? { resource: text, subresource: '' } : { resource: text.slice(0, slash), subresource: text.slice(slash + 1) };
}

export function ruleMatches(rule: Rule, asked: Asked): boolean {
  return (
    fitsScope(rule.scope, asked.inNamespace) &&
    oneOf(rule.operations, asked.operation) &&
    oneOf(rule.groups, asked.group) &&
    oneOf(rule.versions, asked.version) &&
    (rule.names === undefined || rule.names.has(asked.name)) &&
    rule.resources.some(
      ({ resource, subresource }) =>
        (resource === '*' || resource === asked.resource) && (subresource === '*' || subresource === asked.subresource),
    )
  );
}

function oneOf(allowed: ReadonlySet<string>, value: string): boolean {
  return allowed.has(value) || allowed.has('*');
}

function fitsScope(scope: string, inNamespace: boolean): boolean {
  return scope === '*' || (scope === 'Namespaced') === inNamespace;
}

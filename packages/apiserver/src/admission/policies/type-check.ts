import type { Known } from '@capstan/kinds';
import { anything, compileExpression, typedDeclaration, Variables } from '@capstan/kinds';
import { type Fields, fieldsOf, itemsOf, type KubeObject, type Parts, shorten, textOf, textsOf } from '@capstan/machinery';
import type { Catalog } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';
import { Misconfigured, paramResource } from './params.ts';
import { paramKindOf } from './policy.ts';

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** Further kinds are not checked, as in Kubernetes. */
const mostKinds = 10;
/** Warnings are stored in the policy, which must not grow much through them. */
const mostWarnings = 100;
const longestProblem = 2048;

/**
 * Type errors in the expressions of a policy, for the kinds it applies to. Such a policy is accepted and fails when it evaluates these
 * objects, so its author gets a warning in advance.
 */
export function* typeWarnings(policy: KubeObject, catalog: Catalog): Parts<ExpressionWarning[]> {
  const spec = fieldsOf(policy['spec']);
  const params = paramsResource(spec, catalog);
  const kinds: { readonly resource: Resource; readonly variables: Variables }[] = [];
  for (const resource of kindsOf(spec, catalog)) {
    kinds.push({ resource, variables: typedVariables(spec, resource, params) });
    yield;
  }
  const warnings: ExpressionWarning[] = [];
  for (const [fieldRef, expression] of expressionsOf(spec)) {
    const problems: string[] = [];
    for (const { resource, variables } of kinds) {
      const { group, version, kind } = resource;
      const { error } = compileExpression(expression, variables.declarations(), anything);
      if (error !== undefined) problems.push(`${group}/${version}, Kind=${kind}: ${shorten(error, longestProblem)}\n`);
      yield;
    }
    if (problems.length > 0) warnings.push({ fieldRef, warning: problems.join('\n') });
    if (warnings.length === mostWarnings) break;
  }
  return warnings;
}

/** The expressions that are checked, by the field that holds them. */
function* expressionsOf(spec: Readonly<Fields>): Iterable<[fieldRef: string, expression: string]> {
  for (const [index, validation] of itemsOf(spec['validations']).entries()) {
    const at = `spec.validations[${index}]`;
    yield [`${at}.expression`, textOf(validation['expression'])];
    const message = textOf(validation['messageExpression']);
    if (message !== '') yield [`${at}.messageExpression`, message];
  }
}

function typedVariables(spec: Readonly<Fields>, resource: Resource, params: Resource | undefined): Variables {
  const object = typedDeclaration(resource.type, resource.kind);
  const typed = new Map([
    ['object', object],
    ['oldObject', object],
    ...(params === undefined ? [] : ([['params', typedDeclaration(params.type, params.kind)]] as const)),
  ]);
  const known: Known = { params: params !== undefined, authorizer: true, typed };
  return Variables.of(itemsOf(spec['variables']), known);
}

function paramsResource(spec: Readonly<Fields>, catalog: Catalog): Resource | undefined {
  try {
    return paramResource({ paramKind: paramKindOf(spec) }, catalog);
  } catch (error) {
    if (error instanceof Misconfigured) return undefined;
    throw error;
  }
}

/** The kinds that the rules name. Wildcards are not expanded. */
function kindsOf(spec: Readonly<Fields>, catalog: Catalog): Resource[] {
  const found = new Set<Resource>();
  for (const rule of itemsOf(fieldsOf(spec['matchConstraints'])['resourceRules'])) {
    const groups = textsOf(rule['apiGroups']);
    const versions = textsOf(rule['apiVersions']);
    if (groups.includes('*') || versions.includes('*')) continue;
    for (const group of groups) {
      for (const version of versions) {
        for (const name of textsOf(rule['resources'])) {
          const resource = catalog.resource(group, version, name);
          if (resource !== undefined && found.size < mostKinds) found.add(resource);
        }
      }
    }
  }
  const key = ({ group, version, kind }: Resource): string => `${group} ${version} ${kind}`;
  return [...found].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

import type { Known } from '@capstan/kinds';
import { anything, compileExpression, typedDeclaration, Variables } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, textOf, textsOf } from '@capstan/machinery';
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

/**
 * Type errors in the expressions of a policy, for the kinds it applies to. Such a policy is accepted and fails when it evaluates these
 * objects, so its author gets a warning in advance.
 */
export function typeWarnings(policy: KubeObject, catalog: Catalog): ExpressionWarning[] {
  const spec = fieldsOf(policy['spec']);
  const params = paramsResource(spec, catalog);
  const kinds = kindsOf(spec, catalog).map((resource) => ({ resource, variables: typedVariables(spec, resource, params) }));
  const warningsAt = (fieldRef: string, expression: string): ExpressionWarning[] => {
    const problems = kinds.flatMap(({ resource: { group, version, kind }, variables }) => {
      const { error } = compileExpression(expression, variables.declarations(), anything);
      return error === undefined ? [] : [`${group}/${version}, Kind=${kind}: ${error}\n`];
    });
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join('\n') }];
  };
  return itemsOf(spec['validations']).flatMap((validation, index) => {
    const at = `spec.validations[${index}]`;
    const message = textOf(validation['messageExpression']);
    return [
      ...warningsAt(`${at}.expression`, textOf(validation['expression'])),
      ...(message === '' ? [] : warningsAt(`${at}.messageExpression`, message)),
    ];
  });
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

import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, maybeFields, textOf } from '../../../kinds/workloads/reading.ts';
import { conditionsOf } from '../../expressions/conditions.ts';
import { type CompiledExpression, compilePatch, type PatchType } from '../../expressions/expression.ts';
import { Variables } from '../../expressions/variables.ts';
import { criteriaOf } from '../../matching/match.ts';
import { type AnyPolicy, paramKindOf } from '../policy.ts';

export interface Mutation {
  readonly type: PatchType;
  readonly patch: CompiledExpression;
}

/** A MutatingAdmissionPolicy, compiled once. */
export interface MutatingPolicy extends AnyPolicy {
  readonly mutations: readonly Mutation[];
  /** Looks at the object again when something changed it after this policy did. */
  readonly isReinvocable: boolean;
}

export function mutatingPolicyOf(object: KubeObject): MutatingPolicy {
  const spec = fieldsOf(object['spec']);
  const paramKind = paramKindOf(spec);
  const variables = Variables.of(itemsOf(spec['variables']), { params: paramKind !== undefined, authorizer: true });
  return {
    name: object.metadata.name ?? '',
    failurePolicy: spec['failurePolicy'] === 'Ignore' ? 'Ignore' : 'Fail',
    criteria: criteriaOf(fieldsOf(spec['matchConstraints'])),
    paramKind,
    variables: variables.compiled,
    conditions: conditionsOf(spec['matchConditions'], variables),
    mutations: itemsOf(spec['mutations']).map((mutation) => mutationOf(mutation, variables)),
    isReinvocable: spec['reinvocationPolicy'] === 'IfNeeded',
  };
}

function mutationOf(mutation: Fields, variables: Variables): Mutation {
  const type = mutation['patchType'] === 'JSONPatch' ? 'JSONPatch' : 'ApplyConfiguration';
  const patch = maybeFields(mutation[type === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration']) ?? {};
  return { type, patch: compilePatch(textOf(patch['expression']), variables.declarations(), type) };
}

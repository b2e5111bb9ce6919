import type { Variables } from '@capstan/kinds';
import { type CompiledExpression, compilePatch, type PatchType } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, maybeFields, textOf } from '@capstan/machinery';
import { type AnyPolicy, commonOf } from '../policy.ts';

export interface Mutation {
  readonly type: PatchType;
  readonly patch: CompiledExpression;
}

/** A MutatingAdmissionPolicy, compiled once. */
export interface MutatingPolicy extends AnyPolicy {
  readonly mutations: readonly Mutation[];
  /** Whether the policy runs again if something changed the object after it ran. */
  readonly isReinvocable: boolean;
}

export function mutatingPolicyOf(object: KubeObject): MutatingPolicy {
  const spec = fieldsOf(object['spec']);
  const { common, variables } = commonOf(object, spec);
  return {
    ...common,
    mutations: itemsOf(spec['mutations']).map((mutation) => mutationOf(mutation, variables)),
    isReinvocable: spec['reinvocationPolicy'] === 'IfNeeded',
  };
}

function mutationOf(mutation: Fields, variables: Variables): Mutation {
  const type = mutation['patchType'] === 'JSONPatch' ? 'JSONPatch' : 'ApplyConfiguration';
  const patch = maybeFields(mutation[type === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration']) ?? {};
  return { type, patch: compilePatch(textOf(patch['expression']), variables.declarations(), type) };
}

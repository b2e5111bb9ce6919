import type { Strategy } from '@capstan/kinds';
import { type UpdateRound, updateRounds, usualRounds } from '@capstan/kinds';
import {
  type FieldError,
  type KubeObject,
  names,
  type Parts,
  validateMetaChange,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '@capstan/machinery';
import type { RequestContext } from './context.ts';
import type { Resource } from './resource.ts';

export type UpdateRules = Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateObjectInParts' | 'validateUpdate' | 'validateInParts'>;

interface Change {
  readonly object: KubeObject;
  readonly old: KubeObject;
  readonly subresource: string;
}

/** The kind's rules for a change: of the object itself, its status, or another part of it. */
export function updateRules({ strategy }: Resource, subresource: string): UpdateRules {
  if (subresource === '' || subresource === 'scale') return strategy;
  return (subresource === 'status' ? strategy.status : strategy.subresources?.[subresource]) ?? {};
}

/** The errors in a changed object. Each check runs once; only if one fails do they run as often, and in the order, as in Kubernetes. */
export function* changedObjectErrors(resource: Resource, change: Change, context: RequestContext): Parts<FieldError[]> {
  const { object, old, subresource } = change;
  const rules = updateRules(resource, subresource);
  const metaRules = { namespaced: resource.namespaced, custom: resource.strategy.anyFinalizer === true };
  const metaErrors = validateObjectMetaUpdate(object.metadata, old.metadata, metaRules);
  yield;
  const rest = rules.validate?.(object, context) ?? [];
  if (rules.validateObjectInParts !== undefined) rest.push(...(yield* rules.validateObjectInParts(object, context)));
  yield;
  const changes = rules.validateUpdate?.(object, old, context) ?? [];
  if (rules.validateInParts !== undefined) {
    yield;
    changes.push(...(yield* rules.validateInParts({ object, old, errors: changes }, context)));
  }
  // Of the metadata, only finalizers and generateName can be valid in general but invalid for this kind.
  const isRight = metaErrors.length + rest.length + changes.length === 0 && object.metadata.generateName === old.metadata.generateName;
  if (isRight && (object.metadata.finalizers === undefined || metaRules.custom)) return [];
  const found: Record<UpdateRound, readonly FieldError[]> = {
    metadata: validateObjectMeta(object.metadata, { ...metaRules, validateName: resource.strategy.validateName ?? names.dns1123Subdomain }),
    metadataChange: validateMetaChange(object.metadata, old.metadata, metaRules),
    rest,
    change: changes,
  };
  const rounds = subresource === '' ? updateRounds.get(`${resource.group}/${resource.resource}`) : undefined;
  return [...metaErrors, ...(rounds ?? usualRounds).flatMap((round) => found[round])];
}

import { type ApprovalState, approvalOf, bundleProblem, conversionBundle, isProtected } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, sameJson, textOf } from '@capstan/machinery';
import { type Held, printHeld } from '../registry/quarantine.ts';
import { type Condition, isTrue, type NewCondition, withCondition } from './conditions.ts';
import { acceptNames, type TakenNames } from './names.ts';
import { type Names, readNames } from './summary.ts';

/** The desired status of a definition; undefined if it is up to date. */
export function wantedStatus(
  definition: KubeObject,
  taken: TakenNames,
  { now, held, mayRelease }: { readonly now: Date; readonly held: Held | undefined; readonly mayRelease: boolean },
): object | undefined {
  const status = fieldsOf(definition['status']);
  const before = conditionsOf(definition);
  const { accepted, conflict } = acceptNames(readNames(fieldsOf(definition['spec'])['names']), readNames(status['acceptedNames']), taken);
  let conditions: readonly Condition[] = withCondition(before, namesCondition(conflict), now);
  if (!isTrue(before, 'Established')) conditions = withCondition(conditions, establishedCondition(definition, conflict === undefined), now);
  const approval = approvalCondition(definition);
  if (approval !== undefined) conditions = withCondition(conditions, approval, now);
  const quarantined = quarantinedCondition(before, { held, mayRelease });
  if (quarantined !== undefined) conditions = withCondition(conditions, quarantined, now);
  const acceptedNames = writtenNames(accepted);
  if (conditions === before && sameJson(acceptedNames, status['acceptedNames'])) return undefined;
  return { ...status, conditions, acceptedNames };
}

export const quarantinedType = 'Quarantined';

/** Undefined for a definition that never was in quarantine, or that another server says is. */
function quarantinedCondition(
  before: readonly Condition[],
  { held, mayRelease }: { readonly held: Held | undefined; readonly mayRelease: boolean },
): NewCondition | undefined {
  const type = quarantinedType;
  if (held !== undefined) return { type, status: 'True', reason: 'ServerStoppedDuringEvaluation', message: printHeld(held) };
  return mayRelease && isTrue(before, type) ? { type, status: 'False', reason: 'Changed', message: 'the rules were changed' } : undefined;
}

export function conditionsOf(definition: KubeObject): readonly Condition[] {
  return itemsOf(fieldsOf(definition['status'])['conditions']) as unknown as readonly Condition[];
}

function namesCondition(conflict: { reason: string; message: string } | undefined): NewCondition {
  if (conflict !== undefined) return { type: 'NamesAccepted', status: 'False', ...conflict };
  return { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
}

function establishedCondition(definition: KubeObject, namesAccepted: boolean): NewCondition {
  if (!namesAccepted) return { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
  if (bundleProblem(conversionBundle(definition)) !== undefined)
    return { type: 'Established', status: 'False', reason: 'InvalidCABundle', message: 'The conversion webhook CABundle is invalid' };
  return { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' };
}

const approvals: Record<ApprovalState, { status: 'True' | 'False'; reason: string }> = {
  invalid: { status: 'False', reason: 'InvalidAnnotation' },
  missing: { status: 'False', reason: 'MissingAnnotation' },
  approved: { status: 'True', reason: 'ApprovedAnnotation' },
  bypassed: { status: 'False', reason: 'UnapprovedAnnotation' },
};

function approvalCondition(definition: KubeObject): NewCondition | undefined {
  if (!isProtected(textOf(fieldsOf(definition['spec'])['group']))) return undefined;
  const { state, reason } = approvalOf(definition);
  return { type: 'KubernetesAPIApprovalPolicyConformant', ...approvals[state], message: reason };
}

function writtenNames({ plural, singular, shortNames, kind, listKind, categories }: Names): object {
  return {
    plural,
    ...(singular !== '' && { singular }),
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    kind,
    ...(listKind !== '' && { listKind }),
    ...(categories.length > 0 && { categories: [...categories] }),
  };
}

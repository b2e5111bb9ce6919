import { type FieldError, forbidden, invalid, notSupported, required } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import { invalidObject, type StatusError } from '../status/status.ts';
import { validateFieldManager } from './manager.ts';

export interface ListOptions {
  readonly watch?: boolean | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly continue?: string | undefined;
  readonly limit?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly sendInitialEvents?: boolean | undefined;
}

export interface WriteOptions {
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: string | undefined;
  readonly dryRun?: readonly string[] | undefined;
}

export interface PatchOptions extends WriteOptions {
  readonly force?: boolean | undefined;
}

export interface DeleteOptions {
  readonly dryRun?: readonly string[] | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string } | undefined;
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean | undefined;
}

/** The error for invalid options: `CreateOptions.meta.k8s.io "" is invalid: …`. */
export function invalidOptions(
  kind: 'ListOptions' | 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions' | 'TableOptions',
  errors: readonly FieldError[],
): StatusError {
  return invalidObject({ group: 'meta.k8s.io', kind }, '', errors);
}

const versionMatch = FieldPath.of('resourceVersionMatch');
const initialEvents = FieldPath.of('sendInitialEvents');
const policy = FieldPath.of('propagationPolicy');

export function validateListOptions(options: ListOptions): FieldError[] {
  return options.watch ? watchErrors(options) : listErrors(options);
}

function listErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const match = options.resourceVersionMatch;
  if (match) {
    if (!options.resourceVersion)
      errors.push(forbidden(versionMatch, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    if (options.continue) errors.push(forbidden(versionMatch, 'resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan') errors.push(notSupported(versionMatch, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(forbidden(versionMatch, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (options.sendInitialEvents !== undefined) errors.push(forbidden(initialEvents, 'sendInitialEvents is forbidden for list'));
  return errors;
}

function watchErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const match = options.resourceVersionMatch;
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(versionMatch, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match) {
    if (options.sendInitialEvents === undefined) {
      errors.push(forbidden(versionMatch, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
    }
    if (match !== 'NotOlderThan') errors.push(notSupported(versionMatch, match, ['NotOlderThan']));
  }
  if (options.continue) errors.push(forbidden(versionMatch, 'resourceVersionMatch is forbidden when continue is provided'));
  return errors;
}

/** For create and update. */
export function validateWriteOptions(options: WriteOptions): FieldError[] {
  const errors = validateFieldManager(options.fieldManager ?? '');
  errors.push(...dryRunErrors(options.dryRun), ...fieldValidationErrors(options.fieldValidation));
  return errors;
}

export function validatePatchOptions(options: PatchOptions, patchType: 'apply' | 'other'): FieldError[] {
  const errors: FieldError[] = [];
  if (patchType === 'apply') {
    if (!options.fieldManager) errors.push(required(FieldPath.of('fieldManager'), 'is required for apply patch'));
  } else if (options.force !== undefined) errors.push(forbidden(FieldPath.of('force'), 'may not be specified for non-apply patch'));
  errors.push(...validateWriteOptions(options));
  return errors;
}

export function validateDeleteOptions(options: DeleteOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { propagationPolicy, orphanDependents } = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    errors.push(invalid(policy, propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (propagationPolicy !== undefined && !['Foreground', 'Background', 'Orphan'].includes(propagationPolicy)) {
    errors.push(notSupported(policy, propagationPolicy, ['Foreground', 'Background', 'Orphan', 'nil']));
  }
  errors.push(...dryRunErrors(options.dryRun));
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential) errors.push(...unreadableDeletionErrors(options));
  return errors;
}

function unreadableDeletionErrors(options: DeleteOptions): FieldError[] {
  const path = FieldPath.of('ignoreStoreReadErrorWithClusterBreakingPotential');
  const alone = ['dryRun', 'propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions'] as const;
  return alone
    .filter((name) => (name === 'dryRun' ? (options.dryRun ?? []).length > 0 : options[name] !== undefined))
    .map((name) => invalid(path, true, `cannot be set together with .${name}`));
}

export function validateIncludeObject(includeObject: string): FieldError[] {
  if (includeObject === '' || includeObject === 'Metadata' || includeObject === 'Object' || includeObject === 'None') return [];
  return [invalid(FieldPath.of('includeObject'), includeObject, "must be 'Metadata', 'Object', 'None', or empty")];
}

function dryRunErrors(dryRun: readonly string[] | undefined): FieldError[] {
  if (dryRun === undefined || dryRun.every((value) => value === 'All')) return [];
  return [notSupported(FieldPath.of('dryRun'), dryRun, ['All'])];
}

function fieldValidationErrors(fieldValidation: string | undefined): FieldError[] {
  if (!fieldValidation || fieldValidation === 'Ignore' || fieldValidation === 'Warn' || fieldValidation === 'Strict') return [];
  return [notSupported(FieldPath.of('fieldValidation'), fieldValidation, ['', 'Ignore', 'Strict', 'Warn'])];
}

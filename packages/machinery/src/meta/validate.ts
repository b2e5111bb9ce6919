import { type FieldError, forbidden, invalid, required, tooLong } from '../field/error.ts';
import { FieldPath } from '../field/path.ts';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../json.ts';
import { validateFieldManager } from './manager.ts';
import { annotationKey, dns1123Label, labelValue, type NameCheck, pathSegment, qualifiedName } from './names.ts';

export const fieldImmutable = 'field is immutable';

const annotationsLimit = 256 * 1024;
const subresourceLimit = 256;

const metadata = FieldPath.of('metadata');

export interface MetaRules {
  readonly namespaced: boolean;
  readonly validateName: NameCheck;
  readonly path?: FieldPath;
  /** Custom resources may have finalizers without a domain; built-in kinds only the standard ones. */
  readonly custom?: boolean;
}

/** Returns the errors in a new object's metadata, in Kubernetes' order. */
export function validateObjectMeta(meta: ObjectMeta, rules: MetaRules): FieldError[] {
  const path = rules.path ?? metadata;
  const errors: FieldError[] = [];
  if (meta.generateName) {
    for (const message of rules.validateName(meta.generateName, true))
      errors.push(invalid(path.child('generateName'), meta.generateName, message));
  }
  if (!meta.name) errors.push(required(path.child('name'), 'name or generateName is required'));
  else for (const message of rules.validateName(meta.name, false)) errors.push(invalid(path.child('name'), meta.name, message));
  if (!rules.namespaced) {
    if (meta.namespace) errors.push(forbidden(path.child('namespace'), 'not allowed on this type'));
  } else if (!meta.namespace) errors.push(required(path.child('namespace')));
  else for (const message of dns1123Label(meta.namespace)) errors.push(invalid(path.child('namespace'), meta.namespace, message));
  if (meta.generation !== undefined && meta.generation < 0) {
    errors.push(invalid(path.child('generation'), meta.generation, 'must be greater than or equal to 0'));
  }
  checkLabels(meta.labels, path, errors);
  checkAnnotations(meta.annotations, path, errors);
  checkOwners(meta.ownerReferences, path, errors);
  if (meta.finalizers !== undefined && meta.finalizers.length > 0) checkFinalizers(meta.finalizers, path, errors);
  checkManagedFields(meta.managedFields, path, errors);
  if (rules.custom !== true) checkStandardFinalizers(meta.finalizers, path, errors);
  return errors;
}

/** Returns the errors in updated metadata that are common to all kinds: a first check, before that of the kind. */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta, rules: Omit<MetaRules, 'validateName'>): FieldError[] {
  const errors = validateObjectMeta(meta, { ...rules, custom: true, validateName: pathSegment });
  const changes = changeErrors(meta, old, rules.path ?? metadata);
  if (errors.length > 0) checkShared(meta, rules.path ?? metadata, changes);
  return changes.length === 0 ? errors : errors.concat(changes);
}

/** The kind's own check of updated metadata. */
export function validateMetaChange(meta: ObjectMeta, old: ObjectMeta, rules: Omit<MetaRules, 'validateName'>): FieldError[] {
  const path = rules.path ?? metadata;
  const errors = changeErrors(meta, old, path);
  checkShared(meta, path, errors);
  if (rules.custom !== true) checkStandardFinalizers(meta.finalizers, path, errors);
  return errors;
}

function checkShared(meta: ObjectMeta, path: FieldPath, errors: FieldError[]): void {
  checkLabels(meta.labels, path, errors);
  checkAnnotations(meta.annotations, path, errors);
  checkOwners(meta.ownerReferences, path, errors);
  checkManagedFields(meta.managedFields, path, errors);
}

function changeErrors(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp) checkNoNewFinalizers(meta.finalizers ?? [], old.finalizers ?? [], path, errors);
  if (!meta.resourceVersion) errors.push(invalid(path.child('resourceVersion'), '', 'must be specified for an update'));
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    errors.push(invalid(path.child('generation'), meta.generation ?? 0, 'must not be decremented'));
  for (const field of ['name', 'namespace', 'uid'] as const) {
    if ((meta[field] ?? '') !== (old[field] ?? '')) errors.push(invalid(path.child(field), meta[field] ?? '', fieldImmutable));
  }
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if ((meta[field] ?? undefined) !== (old[field] ?? undefined)) errors.push(invalid(path.child(field), meta[field], fieldImmutable));
  }
  return errors;
}

function checkNoNewFinalizers(finalizers: readonly string[], old: readonly string[], path: FieldPath, errors: FieldError[]): void {
  const known = new Set(old);
  const added = [...new Set(finalizers)].filter((finalizer) => !known.has(finalizer)).sort();
  if (added.length === 0) return;
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  errors.push(forbidden(path.child('finalizers'), detail));
}

function checkLabels(labels: Record<string, string> | undefined, path: FieldPath, errors: FieldError[]): void {
  if (labels === undefined) return;
  for (const key in labels) {
    for (const message of qualifiedName(key)) errors.push(invalid(path.child('labels'), key, message));
    for (const message of labelValue(labels[key]!)) errors.push(invalid(path.child('labels'), labels[key], message));
  }
}

/** Returns the errors in labels outside metadata, such as a selector's `matchLabels`. */
export function validateLabels(labels: Record<string, string>, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const key in labels) {
    for (const message of qualifiedName(key)) errors.push(invalid(path, key, message));
    for (const message of labelValue(labels[key]!)) errors.push(invalid(path, labels[key], message));
  }
  return errors;
}

function checkAnnotations(annotations: Record<string, string> | undefined, path: FieldPath, errors: FieldError[]): void {
  if (annotations === undefined) return;
  let characters = 0;
  for (const key in annotations) {
    for (const message of annotationKey(key)) errors.push(invalid(path.child('annotations'), key, message));
    characters += key.length + annotations[key]!.length;
  }
  // A UTF-16 unit takes at most three bytes in UTF-8, so small annotations need not be measured.
  if (characters * 3 > annotationsLimit && annotationBytes(annotations) > annotationsLimit) {
    errors.push(tooLong(path.child('annotations'), annotationsLimit));
  }
}

function annotationBytes(annotations: Record<string, string>): number {
  let bytes = 0;
  for (const key in annotations) bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!);
  return bytes;
}

function checkOwners(owners: readonly Partial<OwnerReference>[] | undefined, parent: FieldPath, errors: FieldError[]): void {
  if (owners === undefined || owners.length === 0) return;
  const path = parent.child('ownerReferences');
  let controller = '';
  let printed: readonly OwnerReference[] | undefined;
  for (const owner of owners) {
    const { group, version } = splitApiVersion(owner.apiVersion ?? '');
    if (version === '') errors.push(invalid(path.child('apiVersion'), owner.apiVersion ?? '', 'version must not be empty'));
    if (!owner.kind) errors.push(invalid(path.child('kind'), '', 'must not be empty'));
    if (!owner.name) errors.push(invalid(path.child('name'), '', 'must not be empty'));
    if (!owner.uid) errors.push(invalid(path.child('uid'), '', 'must not be empty'));
    if (group === '' && version === 'v1' && owner.kind === 'Event') {
      errors.push(invalid(path, printedOwner(owner), '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === '') controller = name;
    else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
      errors.push(invalid(path, (printed ??= owners.map(printedOwner)), detail));
    }
  }
}

/** As in Kubernetes, an apiVersion with more than one slash has no version. */
function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  if (slash === -1) return { group: '', version: apiVersion };
  if (apiVersion.includes('/', slash + 1)) return { group: '', version: '' };
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** In Kubernetes' field order, with the empty fields that it prints. */
function printedOwner(owner: Partial<OwnerReference>): OwnerReference {
  const { apiVersion = '', kind = '', name = '', uid = '', controller, blockOwnerDeletion } = owner;
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller !== undefined && { controller }),
    ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
  };
}

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

function checkFinalizers(finalizers: readonly string[], path: FieldPath, errors: FieldError[]): void {
  for (const finalizer of finalizers) {
    for (const message of qualifiedName(finalizer)) errors.push(invalid(path.child('finalizers'), finalizer, message));
  }
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    errors.push(invalid(path.child('finalizers'), finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`));
  }
}

/** Returns the errors in a finalizer's name on a built-in kind. */
export function validateStandardFinalizer(finalizer: string, path: FieldPath): FieldError[] {
  if (finalizer.includes('/') || finalizer === 'kubernetes' || finalizer === orphan || finalizer === foreground) return [];
  return [invalid(path, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function checkStandardFinalizers(finalizers: readonly string[] | undefined, path: FieldPath, errors: FieldError[]): void {
  if (finalizers === undefined) return;
  for (let index = 0; index < finalizers.length; index++) {
    errors.push(...validateStandardFinalizer(finalizers[index]!, path.child('finalizers').index(index)));
  }
}

function checkManagedFields(entries: readonly ManagedFieldsEntry[] | undefined, parent: FieldPath, errors: FieldError[]): void {
  if (entries === undefined) return;
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]!;
    const manager = entry.manager ?? '';
    const well = entry.operation === 'Apply' || entry.operation === 'Update';
    if (
      well &&
      (entry.fieldsType ?? 'FieldsV1') === 'FieldsV1' &&
      manager.length < 40 &&
      entry.subresource === undefined &&
      /^[ -~]*$/.test(manager)
    ) {
      continue;
    }
    const path = parent.child('managedFields').index(index);
    if (!well) errors.push(invalid(path.child('operation'), entry.operation ?? '', 'must be `Apply` or `Update`'));
    if (entry.fieldsType && entry.fieldsType !== 'FieldsV1')
      errors.push(invalid(path.child('fieldsType'), entry.fieldsType, 'must be `FieldsV1`'));
    errors.push(...validateFieldManager(manager, path.child('manager')));
    if (Buffer.byteLength(entry.subresource ?? '') > subresourceLimit) errors.push(tooLong(path.child('subresource'), subresourceLimit));
  }
}

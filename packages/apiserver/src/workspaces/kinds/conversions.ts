import { type Fields, fieldsOf, itemsOf, type KubeObject, maybeFields, status, textsOf } from '@capstan/machinery';
import { type ClaimList, claimsToV1alpha1, claimsToV1alpha2 } from './claims.ts';
import { Notes } from './notes.ts';

/**
 * Converts APIExport and APIBinding between their two versions. Fields that the other version cannot express are kept in annotations, under
 * kcp's names, so that an object survives conversion to the other version and back.
 */
const note = (name: string): string => `apis.v1alpha2.kcp.io/${name}`;

const v1alpha1 = 'apis.kcp.io/v1alpha1';
const v1alpha2 = 'apis.kcp.io/v1alpha2';
const virtualResources = note('resource-schemas');

const exportClaims: ClaimList = {
  field: 'permissionClaims',
  scoped: false,
  notedInV1alpha1: note('permission-claims'),
  notedInV1alpha2: note('v1alpha1-permission-claims'),
};
const acceptableClaims: ClaimList = {
  field: 'permissionClaims',
  scoped: true,
  notedInV1alpha1: note('acceptable-permission-claims'),
  notedInV1alpha2: note('v1alpha1-permission-claims'),
};
const claimsOfExport: ClaimList = {
  field: 'exportPermissionClaims',
  scoped: false,
  notedInV1alpha1: note('status-export-permission-claims'),
  notedInV1alpha2: note('v1alpha1-status-export-permission-claims'),
};
const appliedClaims: ClaimList = {
  field: 'appliedPermissionClaims',
  scoped: true,
  notedInV1alpha1: note('status-applied-permission-claims'),
  notedInV1alpha2: note('v1alpha1-status-applied-permission-claims'),
};

/** The APIExport or APIBinding in v1alpha2, the storage version of both. Does not modify its argument. */
export function toV1alpha2(object: KubeObject): KubeObject {
  if (object.apiVersion === v1alpha2) return object;
  const notes = new Notes(object.metadata.annotations);
  const spec = maybeFields(object['spec']) ?? {};
  if (object.kind === 'APIExport') {
    const converted = resourcesToV1alpha2(claimsToV1alpha2(spec, exportClaims, notes), notes);
    return finish(object, { apiVersion: v1alpha2, notes, spec: converted });
  }
  const converted = claimsToV1alpha2(spec, acceptableClaims, notes);
  const exported = claimsToV1alpha2(fieldsOf(object['status']), claimsOfExport, notes);
  return finish(object, { apiVersion: v1alpha2, notes, spec: converted, status: claimsToV1alpha2(exported, appliedClaims, notes) });
}

/** The APIExport or APIBinding in v1alpha1. Does not modify its argument. */
export function toV1alpha1(object: KubeObject): KubeObject {
  if (object.apiVersion === v1alpha1) return object;
  const notes = new Notes(object.metadata.annotations);
  const spec = maybeFields(object['spec']) ?? {};
  if (object.kind === 'APIExport') {
    const converted = resourcesToV1alpha1(claimsToV1alpha1(spec, exportClaims, notes), notes);
    return finish(object, { apiVersion: v1alpha1, notes, spec: converted });
  }
  const converted = claimsToV1alpha1(spec, acceptableClaims, notes);
  const exported = claimsToV1alpha1(fieldsOf(object['status']), claimsOfExport, notes);
  return finish(object, { apiVersion: v1alpha1, notes, spec: converted, status: claimsToV1alpha1(exported, appliedClaims, notes) });
}

interface Converted {
  readonly apiVersion: string;
  readonly notes: Notes;
  readonly spec: Fields;
  readonly status?: Fields;
}

/** Absent fields stay absent unless they have to be set. */
function finish(object: KubeObject, { apiVersion, notes, spec, status }: Converted): KubeObject {
  const { annotations: _replaced, ...metadata } = object.metadata;
  const { annotations } = notes;
  return {
    ...object,
    apiVersion,
    metadata: annotations === undefined ? metadata : { ...metadata, annotations },
    ...((object['spec'] !== undefined || Object.keys(spec).length > 0) && { spec }),
    ...(object['status'] !== undefined && status !== undefined && { status }),
  };
}

/** v1alpha1 lists names of schemas, which contain group and resource; it cannot express virtual resources. */
function resourcesToV1alpha2({ latestResourceSchemas, ...spec }: Fields, notes: Notes): Fields {
  const virtual = notes.take(virtualResources).filter(isVirtualResource);
  const resources = [...textsOf(latestResourceSchemas).map(resourceOf), ...virtual];
  return resources.length === 0 ? spec : { ...spec, resources };
}

function resourcesToV1alpha1({ resources, ...spec }: Fields, notes: Notes): Fields {
  const virtual = itemsOf(resources).filter((resource) => !isStoredHere(resource));
  notes.put(virtualResources, virtual);
  const names = itemsOf(resources).filter(isStoredHere);
  return names.length === 0 ? spec : { ...spec, latestResourceSchemas: names.map(({ schema }) => schema) };
}

/** `v1.widgets.example.com` is a schema of `widgets` in `example.com`. */
function resourceOf(schema: string): Fields {
  const [, name, ...group] = schema.split('.');
  if (name === undefined || group.length === 0)
    throw status.badRequest(`invalid schema ${JSON.stringify(schema)}: must have at least 3 dot-separated segments`);
  return { group: group.join('.') === 'core' ? '' : group.join('.'), name, schema, storage: { crd: {} } };
}

function isStoredHere({ storage }: Fields): boolean {
  return maybeFields(fieldsOf(storage)['crd']) !== undefined;
}

function isVirtualResource({ group, name, schema, storage }: Fields): boolean {
  return [group, name, schema].every((text) => typeof text === 'string') && maybeFields(fieldsOf(storage)['virtual']) !== undefined;
}

import {
  type ApiBinding,
  type ApiBindingStatus,
  type ApiExport,
  type ApiResourceSchema,
  type BoundResource,
  type ExportedResource,
  holds,
  isTrue,
  lacks,
  type NewCondition,
  withConditions,
} from '@capstan/api';
import type { Readiness } from '../../caching/readiness.ts';
import { claimsOf } from './claims.ts';
import { isKubernetesGroup, namingConflict, ownerOf, printSkipped, type Taken } from './conflicts.ts';

export interface BindingActions {
  /** The export that the binding refers to, with the id of its workspace; undefined if it does not exist. */
  readonly getExport: () => Promise<{ readonly cluster: string; readonly object: ApiExport } | undefined>;
  readonly getSchema: (cluster: string, name: string) => Promise<ApiResourceSchema | undefined>;
  /** The other kinds of the workspace, from bindings and definitions, as they are now. */
  readonly taken: () => Promise<readonly Taken[]>;
  /** Whether the workspace serves a kind already. Asked only about groups of Kubernetes. */
  readonly isServed: (apiVersion: string, kind: string) => Promise<boolean>;
  /** Creates the copy of a schema from which the bound kind is served. Returns the reason if the server rejects it. */
  readonly keepSchema: (schema: ApiResourceSchema) => Promise<string | undefined>;
  /** Whether a resource with virtual storage can be read. */
  readonly readiness: (cluster: string, resource: ExportedResource) => Readiness;
  readonly now: () => Date;
}

/** The status of a binding, and whether to reconcile it again even if nothing changes. */
export interface Outcome {
  readonly status: ApiBindingStatus;
  readonly isWaiting: boolean;
}

/** The status that a binding should have. */
export async function reconcileBinding(binding: ApiBinding, actions: BindingActions): Promise<Outcome> {
  const { status = {} } = binding;
  const begun: ApiBindingStatus = status.phase === undefined ? { ...status, phase: 'Binding' } : status;
  const found = await actions.getExport();
  const { path = '', name = '' } = binding.spec?.reference?.export ?? {};
  const place = `${path || (binding.metadata.annotations?.['kcp.io/cluster'] ?? '')}|${name}`;
  if (found === undefined) {
    const message = `APIExport ${place} not found`;
    return {
      status: summarized(begun, [lacks('APIExportValid', { reason: 'APIExportNotFound', message })], actions.now()),
      isWaiting: false,
    };
  }
  const { cluster, object } = found;
  const claims = claimsOf(binding, object.spec?.permissionClaims ?? []);
  const identityHash = object.status?.identityHash;
  const known = {
    ...begun,
    exportPermissionClaims: object.spec?.permissionClaims ?? [],
    appliedPermissionClaims: claims.applied,
  };
  if (!identityHash) {
    const missing = lacks('APIExportValid', {
      reason: 'MissingIdentityHash',
      severity: 'Warning',
      message: `APIExport ${place} is missing status.identityHash`,
    });
    return { status: summarized(known, [...claims.conditions, missing], actions.now()), isWaiting: false };
  }
  const other = (status.boundResources ?? []).find(({ schema }) => schema.identityHash !== identityHash)?.schema.identityHash;
  if (other !== undefined) {
    const message =
      `APIExport ${place} has the identity ${identityHash}, and this APIBinding is bound to ${other}: it is another one of the same name. ` +
      'Delete this APIBinding, and all that it brought, to bind the new one';
    const mismatch = ['APIExportValid', 'BindingUpToDate'].map((type) => lacks(type, { reason: 'IdentityMismatch', message }));
    return { status: summarized(begun, mismatch, actions.now()), isWaiting: false };
  }
  const bound = await bind(binding, { cluster, object, identityHash }, actions);
  const changed: ApiBindingStatus = {
    ...known,
    apiExportClusterName: cluster,
    boundResources: merged(status.boundResources ?? [], bound.resources),
    ...(bound.isComplete && { phase: 'Bound' as const }),
  };
  return { status: summarized(changed, [...claims.conditions, ...bound.conditions], actions.now()), isWaiting: bound.isWaiting };
}

interface Provider {
  readonly cluster: string;
  readonly object: ApiExport;
  readonly identityHash: string;
}

interface Bound {
  readonly resources: readonly BoundResource[];
  readonly conditions: readonly NewCondition[];
  readonly isComplete: boolean;
  readonly isWaiting: boolean;
}

async function bind(binding: ApiBinding, { cluster, object, identityHash }: Provider, actions: BindingActions): Promise<Bound> {
  const resources: BoundResource[] = [];
  const failed = (conditions: readonly NewCondition[], isWaiting = false): Bound => ({
    resources,
    conditions,
    isComplete: false,
    isWaiting,
  });
  const schemas: ApiResourceSchema[] = [];
  const virtual = new Map<ApiResourceSchema, Readiness>();
  for (const offered of object.spec?.resources ?? []) {
    const { schema } = offered;
    const read = await actions.getSchema(cluster, schema);
    const message = `Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "${schema}" not found`;
    if (read === undefined) return failed([lacks('APIExportValid', { reason: 'InternalError', message })]);
    schemas.push(read);
    if (offered.storage?.virtual !== undefined) virtual.set(read, actions.readiness(cluster, offered));
  }
  const news = schemas.filter((schema) => !isBound(binding, schema, identityHash));
  const taken = news.length === 0 ? [] : await actions.taken();
  const skipped = new Map<string, Taken>();
  for (const schema of schemas) {
    const { group, names, versions, conversion } = schema.spec!;
    if (versions.length > 1 && conversion === undefined) {
      const message = 'Invalid APIExport. Please contact the APIExport owner to resolve';
      return failed([lacks('APIExportValid', { reason: 'InternalError', message })]);
    }
    if (news.includes(schema)) {
      const owner = ownerOf({ group, names }, taken) ?? (await builtIn(binding, schema, actions));
      if (owner !== undefined) {
        skipped.set(`${names.plural}.${group}`, owner);
        continue;
      }
      const conflict = namingConflict({ group, names }, taken);
      if (conflict !== undefined) return failed(notUpToDate(binding, 'NamingConflicts', `Unable to bind APIs: ${conflict}`), true);
    }
    // A resource that cannot be read is not bound, but one that is bound already stays so.
    const readiness = virtual.get(schema);
    if (readiness !== undefined && (isStored(binding, schema) || (news.includes(schema) && readiness.type !== 'ready'))) continue;
    const refusal = await actions.keepSchema(schema);
    if (refusal !== undefined) {
      const message = `APIResourceSchema ${cluster}|${schema.metadata.name} is invalid: ${refusal}`;
      return failed(notUpToDate(binding, 'APIResourceSchemaInvalid', message));
    }
    resources.push(boundResource(schema, { identityHash, isVirtual: readiness !== undefined }, binding));
  }
  const unreadable = unreadableIn(binding, virtual);
  if (skipped.size > 0) {
    const message = `Unable to bind APIs because they are bound by other APIBindings or CRDs: ${printSkipped(skipped)}`;
    return failed([holds('APIExportValid'), ...notUpToDate(binding, 'NamingConflicts', message)], true);
  }
  if (unreadable !== undefined) return failed(unreadable, true);
  const conditions = ['APIExportValid', 'InitialBindingCompleted', 'BindingUpToDate'].map(holds);
  return { resources, conditions, isComplete: true, isWaiting: false };
}

/** The kind of Kubernetes that the workspace serves under the same name; undefined if there is none. */
async function builtIn(binding: ApiBinding, schema: ApiResourceSchema, { isServed }: BindingActions): Promise<Taken | undefined> {
  const { group, names, versions } = schema.spec!;
  // The binding itself may be what brought the kind.
  if (!isKubernetesGroup(group) || boundBefore(binding, schema) !== undefined) return undefined;
  for (const { name } of versions)
    if (await isServed(group === '' ? name : `${group}/${name}`, names.kind)) return { group, names, by: { kubernetes: true } };
  return undefined;
}

function isBound({ status }: ApiBinding, { spec, metadata }: ApiResourceSchema, identityHash: string): boolean {
  return (status?.boundResources ?? []).some(
    ({ group, resource, schema }) =>
      group === spec!.group && resource === spec!.names.plural && schema.UID === metadata.uid && schema.identityHash === identityHash,
  );
}

/** InitialBindingCompleted stays true once it was: later problems are reported in BindingUpToDate only. */
function notUpToDate({ status }: ApiBinding, reason: string, message: string): NewCondition[] {
  const one = lacks('BindingUpToDate', { reason, message });
  return isTrue(status?.conditions, 'InitialBindingCompleted') ? [one] : [one, { ...one, type: 'InitialBindingCompleted' }];
}

function boundBefore({ status }: ApiBinding, { spec }: ApiResourceSchema): BoundResource | undefined {
  return (status?.boundResources ?? []).find((one) => one.group === spec!.group && one.resource === spec!.names.plural);
}

/** Whether the workspace stores its own objects of a kind: they would be lost if the kind were read from elsewhere. */
function isStored(binding: ApiBinding, schema: ApiResourceSchema): boolean {
  return (boundBefore(binding, schema)?.storageVersions ?? []).length > 0;
}

/** The conditions to report if a resource with virtual storage cannot be read; undefined if all can. */
function unreadableIn(binding: ApiBinding, virtual: ReadonlyMap<ApiResourceSchema, Readiness>): NewCondition[] | undefined {
  const problems: string[] = [];
  const waiting: string[] = [];
  for (const [schema, readiness] of virtual) {
    const { group, names } = schema.spec!;
    if (isStored(binding, schema))
      problems.push(`${names.plural}.${group} is stored where it was bound before, and cannot be read from elsewhere`);
    else if (readiness.type === 'broken') problems.push(`${names.plural}.${group}: ${readiness.why}`);
    else if (readiness.type === 'waiting' && boundBefore(binding, schema) === undefined) waiting.push(readiness.why);
  }
  if (problems.length > 0) {
    const message = `Invalid APIExport. Please contact the APIExport owner to resolve: ${problems.join('; ')}`;
    return [lacks('APIExportValid', { reason: 'VirtualResourceNotReady', message })];
  }
  if (waiting.length === 0) return undefined;
  const begins = { reason: 'WaitingForEstablished', severity: 'Info', message: waiting.join('; ') } as const;
  return [holds('APIExportValid'), lacks('InitialBindingCompleted', begins)];
}

function boundResource(
  schema: ApiResourceSchema,
  { identityHash, isVirtual }: { identityHash: string; isVirtual: boolean },
  binding: ApiBinding,
): BoundResource {
  const { metadata } = schema;
  const { group, names, versions } = schema.spec!;
  const bound = { group, resource: names.plural, schema: { name: metadata.name ?? '', UID: metadata.uid ?? '', identityHash } };
  if (isVirtual) return bound;
  const before = boundBefore(binding, schema);
  const stored = versions.filter(({ storage }) => storage).map(({ name }) => name);
  return {
    ...bound,
    storageVersions: [...new Set([...(before?.storageVersions ?? []), ...stored])].sort(),
  };
}

/** A bound resource stays bound when the export no longer offers it: its objects still exist. */
function merged(before: readonly BoundResource[], now: readonly BoundResource[]): readonly BoundResource[] {
  const same = (a: BoundResource) => (b: BoundResource) => a.group === b.group && a.resource === b.resource;
  const kept = before.map((one) => now.find(same(one)) ?? one);
  return [...kept, ...now.filter((one) => !before.some(same(one)))];
}

/** Adds the Ready condition, which says whether the binding was ever complete. */
function summarized(status: ApiBindingStatus, set: readonly NewCondition[], now: Date): ApiBindingStatus {
  const initial: NewCondition[] = status.conditions?.some(({ type }) => type === 'InitialBindingCompleted') === true ? [] : [begins];
  const conditions = withConditions(status.conditions, [...initial, ...set], now);
  const { type: _, lastTransitionTime: __, ...completed } = conditions.find(({ type }) => type === 'InitialBindingCompleted')!;
  return { ...status, conditions: withConditions(conditions, [{ type: 'Ready', ...completed }], now) };
}

const begins = lacks('InitialBindingCompleted', {
  reason: 'WaitingForEstablished',
  severity: 'Info',
  message: 'Waiting for API(s) to be established',
});

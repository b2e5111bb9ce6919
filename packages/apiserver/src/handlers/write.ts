import {
  invalidOptions,
  type KubeObject,
  type ObjectType,
  type PatchOptions,
  parsePatchOptions,
  status,
  validatePatchOptions,
  validateWriteOptions,
} from '@capstan/machinery';
import { dropClaimLabels } from '../bindings/claim-labels.ts';
import type { Exchange } from '../http/exchange.ts';
import { negotiate } from '../http/negotiate.ts';
import { catalogFor } from '../registry/catalogs.ts';
import type { RequestContext } from '../registry/context.ts';
import { create } from '../registry/create.ts';
import { cachedEntry, storedEntry, type Written } from '../registry/objects.ts';
import { type Resource, readable } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { bodyOf } from './body.ts';
import { decodeInParts, decodeObject, type Expected, type FieldValidation } from './decode.ts';
import { patched, patchKindOf } from './patch.ts';
import { send, shaperFor } from './read.ts';
import type { Serving } from './serving.ts';

/** The options of a write. */
export interface WriteSettings {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly validation: FieldValidation;
  readonly options: PatchOptions;
}

export function writeSettings(context: RequestContext, kind: 'CreateOptions' | 'UpdateOptions'): WriteSettings {
  const { query } = context.info;
  if (query.isEmpty) return { manager: context.defaultManager, dryRun: false, validation: 'Warn', options: {} };
  const options = parsePatchOptions(query);
  const errors = validateWriteOptions(options);
  if (errors.length > 0) throw invalidOptions(kind, errors);
  return settingsFrom(context, options);
}

export function settingsFrom(context: RequestContext, options: PatchOptions): WriteSettings {
  return {
    manager: options.fieldManager || context.defaultManager,
    dryRun: (options.dryRun ?? []).length > 0,
    validation: (options.fieldValidation || 'Warn') as FieldValidation,
    options,
  };
}

export async function handleCreate(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept);
  const settings = writeSettings(context, 'CreateOptions');
  const object = await readObject(serving, exchange, { context, expected: resource, validation: settings.validation });
  // A creation that is refused has a name, too.
  if (exchange.isRecorded) exchange.written = { name: object.metadata.name ?? '', resourceVersion: '' };
  dropClaimLabels(object);
  checkNamespace(context, resource, object);
  const written = await create(serving, context, {
    resource,
    namespace: context.info.namespace,
    object,
    manager: settings.manager,
    dryRun: settings.dryRun,
  });
  return answer(exchange, context, { written, resource, wanted });
}

export async function handleUpdate(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept);
  const settings = writeSettings(context, 'UpdateOptions');
  const object = await readObject(serving, exchange, { context, expected: resource, validation: settings.validation });
  dropClaimLabels(object);
  const { namespace, name, subresource } = context.info;
  checkName(object, name);
  checkNamespace(context, resource, object);
  object.metadata.name = name;
  const target = { resource, namespace, name };
  const createsMissing = resource.strategy.createOnUpdate === true && subresource === '';
  if (createsMissing && !cachedEntry(serving, context, target) && !(await storedEntry(serving, context, target))) {
    checkUid(resource, object, { ...object, metadata: { name, ...(resource.namespaced && { namespace }) } });
    if (object.metadata.resourceVersion) throw status.conflict(resource, name, status.staleObject);
    await context.permit?.('create');
    const written = await create(serving, context, { ...target, object, manager: settings.manager, dryRun: settings.dryRun });
    return answer(exchange, context, { written, resource, wanted });
  }
  const bytes = exchange.received;
  let unchanged: KubeObject | undefined = object;
  const again = async (): Promise<KubeObject> => {
    const body = { bytes: bytes!, contentType: exchange.headers['content-type'] };
    const options = { catalog: catalogFor(serving, context.info), validation: 'Ignore', context } as const;
    const next = await context.pace().run(decodeInParts(body, resource, options));
    dropClaimLabels(next);
    checkNamespace(context, resource, next);
    next.metadata.name = name;
    return next;
  };
  const written = await update(serving, context, {
    ...target,
    subresource,
    manager: settings.manager,
    dryRun: settings.dryRun,
    replaces: true,
    change: async (old) => {
      // An attempt modifies the object, so the next one decodes it again.
      const next = unchanged ?? (await again());
      unchanged = undefined;
      checkUid(resource, next, old);
      return { object: next };
    },
  });
  return answer(exchange, context, { written, resource, wanted });
}

export async function handlePatch(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const wanted = negotiate(exchange.headers.accept);
  const type = mergeType(serving, resource);
  const kind = patchKindOf(exchange.headers['content-type'], type !== undefined);
  const options = parsePatchOptions(context.info.query);
  const errors = validatePatchOptions(options, kind === 'apply' ? 'apply' : 'other');
  const bytes = await bodyOf(exchange);
  if (errors.length > 0) throw invalidOptions('PatchOptions', errors);
  const settings = settingsFrom(context, options);
  const { namespace, name, subresource } = context.info;
  const target = { resource, namespace, name };
  const patch = await patched(context, { kind, bytes, settings, resource, type });
  const current = cachedEntry(serving, context, target) ?? (await storedEntry(serving, context, target));
  // A change to a built-in object is stored under its name and replaces it from then on.
  const base =
    current === undefined && kind !== 'apply' && subresource === '' ? serving.builtinObjects.find(resource, context.info) : undefined;
  if (current === undefined && subresource === '' && (kind === 'apply' || base !== undefined)) {
    const { object } = await patch(base?.parse());
    if (object.metadata.uid) {
      const why = `uid mismatch: the provided object specified uid ${object.metadata.uid}, and no existing object was found`;
      throw status.conflict(resource, name, why);
    }
    checkNamespace(context, resource, object);
    checkName(object, name);
    await context.permit?.('create');
    const written = await create(serving, context, {
      ...target,
      object,
      manager: settings.manager,
      dryRun: settings.dryRun,
      ...(base === undefined && { applied: true }),
    });
    return answer(exchange, context, { written, resource, wanted });
  }
  const written = await update(serving, context, {
    ...target,
    subresource,
    manager: settings.manager,
    dryRun: settings.dryRun,
    change: async (old) => {
      const changed = await patch(old);
      checkName(changed.object, name);
      checkNamespace(context, resource, changed.object);
      return changed;
    },
  });
  return answer(exchange, context, { written, resource, wanted });
}

/** Strategic patches are merged by the types of Kubernetes, even if a workspace gets a Kubernetes kind from a provider. */
function mergeType({ catalog }: Serving, resource: Resource): ObjectType | undefined {
  if (resource.custom === undefined) return resource.type;
  const builtin = catalog.resource(resource.group, resource.version, resource.resource);
  return builtin?.custom === undefined && builtin?.kind === resource.kind ? builtin.type : undefined;
}

/** In bytes: shorter bodies are decoded at once. */
const longBody = 64 << 10;

/** Reads the request's body as the expected kind. */
export async function readObject(
  serving: Serving,
  exchange: Exchange,
  wanted: { context: RequestContext; expected: Expected; validation: FieldValidation },
): Promise<KubeObject> {
  const bytes = await bodyOf(exchange);
  const body = { bytes, contentType: exchange.headers['content-type'] };
  const options = { catalog: catalogFor(serving, wanted.context.info), validation: wanted.validation, context: wanted.context };
  if (bytes.length < longBody) return decodeObject(body, wanted.expected, options);
  return wanted.context.pace().run(decodeInParts(body, wanted.expected, options));
}

function answer(
  exchange: Exchange,
  context: RequestContext,
  { written, resource, wanted }: { written: Written; resource: Resource; wanted: ReturnType<typeof negotiate> },
): void | Promise<void> {
  const { key, revision } = written.entry;
  if (exchange.isRecorded) exchange.written = { name: key.slice(key.lastIndexOf('/') + 1), resourceVersion: String(revision) };
  const reply = (): void =>
    send(exchange, context, { code: written.created ? 201 : 200, body: shaperFor(resource, wanted, context).one(written.entry), wanted });
  // One commit ends many writes.
  const waiting = readable(resource, [written.entry]) ?? context.turns?.goOn?.();
  return waiting?.then(reply) ?? reply();
}

/** The namespace is in the path; a body may omit it but not name another. */
export function checkNamespace(context: RequestContext, resource: Resource, object: KubeObject): void {
  const { namespace } = context.info;
  if (!resource.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (object.metadata.namespace === undefined || object.metadata.namespace === '') object.metadata.namespace = namespace;
  else if (object.metadata.namespace !== namespace)
    throw status.badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

export function checkName(object: KubeObject, name: string): void {
  if (!object.metadata.name) {
    throw status.badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  } else if (object.metadata.name !== name) {
    throw status.badRequest(`the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`);
  }
}

/** The storage names of resources that were once called otherwise: some messages contain them. */
const storedUnder: ReadonlyMap<string, string> = new Map([
  ['/replicationcontrollers', 'controllers'],
  ['/endpoints', 'services/endpoints'],
  ['/nodes', 'minions'],
  ['/services', 'services/specs'],
  ['networking.k8s.io/ingresses', 'ingress'],
]);

/** A uid in the body identifies the object: one that was created again under the same name is another. */
export function checkUid(resource: Resource, object: KubeObject, old: KubeObject): void {
  const { uid } = object.metadata;
  if (!uid || uid === old.metadata.uid) return;
  const prefix = storedUnder.get(`${resource.group}/${resource.resource}`) ?? resource.resource;
  const key = `/registry/${prefix}/${old.metadata.namespace ? `${old.metadata.namespace}/` : ''}${old.metadata.name}`;
  const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid ?? ''}`;
  throw status.conflict(resource, old.metadata.name ?? '', why);
}

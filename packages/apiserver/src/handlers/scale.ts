import { type ScaleMapping, scaleMappings, scalePrinter } from '@capstan/kinds';
import {
  applyPatch,
  FieldPath,
  fieldError,
  invalidOptions,
  type JsonObject,
  type KubeObject,
  parsePatchOptions,
  status,
  updateManaged,
  validatePatchOptions,
} from '@capstan/machinery';
import { CacheEntry } from '../cache/entry.ts';
import type { Exchange } from '../http/exchange.ts';
import { negotiate } from '../http/negotiate.ts';
import type { RequestContext } from '../registry/context.ts';
import { fresh } from '../registry/list.ts';
import { cachedEntry } from '../registry/objects.ts';
import { resetFieldsOf } from '../registry/reset-fields.ts';
import { objectOf, type Resource, readable, type Subresource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { bodyOf } from './body.ts';
import { parseConfig, patched, patchKindOf } from './patch.ts';
import { send, shaperFor } from './read.ts';
import type { Serving } from './serving.ts';
import { checkName, checkNamespace, checkUid, readObject, settingsFrom, type WriteSettings, writeSettings } from './write.ts';

interface Scaled {
  readonly resource: Resource;
  readonly sub: Subresource;
}

/** The scale subresource: the replicas of any scalable kind, as a `Scale`. */
export async function handleScale(serving: Serving, exchange: Exchange, context: RequestContext, scaled: Scaled): Promise<void> {
  const { resource, sub } = scaled;
  const mapping = resource.custom?.scale ?? scaleMappings.get(`${resource.group}/${resource.resource}`);
  if (mapping === undefined || sub.type === undefined) throw status.noSuchResource();
  negotiate(exchange.headers.accept);
  const { namespace, name, verb } = context.info;
  if (verb === 'get') {
    await fresh(serving.cache);
    const entry = cachedEntry(serving, context, { resource, namespace, name });
    if (entry === undefined) throw status.notFound(resource, name);
    const converting = readable(resource, [entry]);
    if (converting !== undefined) await converting;
    if (resource.custom !== undefined) checkScalable(objectOf(resource, entry), mapping);
    return answer(exchange, context, { scaled, entry, mapping });
  }
  const { settings, change, apply } =
    verb === 'patch' ? await patchedScale(exchange, context, scaled) : await givenScale(serving, exchange, context, scaled);
  const written = await update(serving, context, {
    resource,
    namespace,
    name,
    subresource: 'scale',
    manager: settings.manager,
    dryRun: settings.dryRun,
    admits: {
      shape: sub,
      of: (object) => scaleOf(object, mapping),
      into: (object, scale) => write(object, mapping.specReplicasPath, replicasOf(scale)),
    },
    change: async (old) => {
      if (apply !== undefined) return { object: await apply(old, mapping), applied: true };
      const scale = await change(scaleOf(old, mapping));
      checkName(scale, name);
      checkNamespace(context, resource, scale);
      if (verb === 'update') checkUid(resource, scale, old);
      // The schemas of custom resources limit their replicas themselves.
      if (resource.custom === undefined) checkReplicas(scale);
      if (scale.metadata.resourceVersion) old.metadata.resourceVersion = scale.metadata.resourceVersion;
      else if (resource.custom === undefined) delete old.metadata.resourceVersion;
      const live = structuredClone(old);
      write(old, mapping.specReplicasPath, replicasOf(scale));
      recordScaling(resource, mapping, { live, updated: old, manager: settings.manager, now: context.now() });
      return { object: old, applied: true };
    },
  });
  const converting = readable(resource, [written.entry]);
  if (converting !== undefined) await converting;
  answer(exchange, context, { scaled, entry: written.entry, mapping });
}

/** Sends a scale in the shape that the client wants. */
function answer(
  exchange: Exchange,
  context: RequestContext,
  { scaled: { resource, sub }, entry, mapping }: { scaled: Scaled; entry: CacheEntry; mapping: ScaleMapping },
): void {
  const wanted = negotiate(exchange.headers.accept);
  const text = JSON.stringify(scaleOf(objectOf(resource, entry), mapping));
  if (wanted.shape === 'object') return send(exchange, context, { code: 200, body: `${text}\n`, wanted });
  const { custom, origin: _, storage, ...rest } = resource;
  const { convert: _c, ...stored } = storage;
  const printer = custom === undefined ? scalePrinter : resource.printer;
  const shown: Resource = { ...rest, kind: sub.kind, group: 'autoscaling', groupVersion: sub.groupVersion, printer, storage: stored };
  const body = shaperFor(shown, wanted, context).one(new CacheEntry(entry.key, text, entry.revision));
  send(exchange, context, { code: 200, body, wanted });
}

interface Scaling {
  readonly live: KubeObject;
  readonly updated: KubeObject;
  readonly manager: string;
  readonly now: Date;
}

/**
 * Kubernetes records no time for managers that only scale, and so lists them before other managers with updates. Once nobody owns
 * the replicas, because their owner scaled to zero, nobody does until someone applies them.
 */
function recordScaling(resource: Resource, { specReplicasPath }: ScaleMapping, change: Scaling): void {
  const { live, updated } = change;
  const before = live.metadata.managedFields;
  if (before !== undefined && !before.some(({ fieldsV1 }) => owns(fieldsV1, specReplicasPath))) return;
  updateManaged({
    ...change,
    type: resource.type,
    apiVersion: resource.groupVersion,
    subresource: 'scale',
    resetFields: resetFieldsOf(resource, 'scale'),
  });
  const manager = change.manager || 'unknown';
  const entries = updated.metadata.managedFields ?? [];
  const scaling = entries.filter((entry) => entry.subresource === 'scale' && entry.manager === manager);
  withoutTime(scaling);
  const others = entries.filter((entry) => !scaling.includes(entry));
  const applied = others.filter(({ operation }) => operation === 'Apply');
  const shown = read(updated, specReplicasPath) === 0 ? [] : scaling;
  updated.metadata.managedFields = [...applied, ...shown, ...others.filter((entry) => !applied.includes(entry))];
}

function owns(fields: unknown, path: readonly string[]): boolean {
  let node = fields as Readonly<Record<string, unknown>> | undefined;
  for (const name of path) node = node?.[`f:${name}`] as Readonly<Record<string, unknown>> | undefined;
  return node !== undefined;
}

function withoutTime(entries: readonly { time?: string }[]): void {
  for (const entry of entries) delete entry.time;
}

interface Change {
  readonly settings: WriteSettings;
  readonly change: (current: KubeObject) => Promise<KubeObject>;
  /** For an applied configuration: applies it to the scaled object. */
  readonly apply?: (old: KubeObject, mapping: ScaleMapping) => Promise<KubeObject>;
}

async function givenScale(serving: Serving, exchange: Exchange, context: RequestContext, { sub }: Scaled): Promise<Change> {
  const settings = writeSettings(context, 'UpdateOptions');
  const scale = await readObject(serving, exchange, {
    context,
    expected: { kind: sub.kind, groupVersion: sub.groupVersion, type: sub.type! },
    validation: settings.validation,
  });
  return { settings, change: () => Promise.resolve(scale) };
}

async function patchedScale(exchange: Exchange, context: RequestContext, { resource, sub }: Scaled): Promise<Change> {
  const kind = patchKindOf(exchange.headers['content-type'], resource.custom === undefined);
  const options = parsePatchOptions(context.info.query);
  const errors = validatePatchOptions(options, kind === 'apply' ? 'apply' : 'other');
  const bytes = await bodyOf(exchange);
  if (errors.length > 0) throw invalidOptions('PatchOptions', errors);
  const settings = settingsFrom(context, options);
  // A scale is patched as an object of its own kind.
  const { custom: _, ...scaled } = resource;
  const scales = { ...scaled, kind: sub.kind, groupVersion: sub.groupVersion, type: sub.type! };
  const patch = await patched(context, { kind, bytes, settings, resource: scales, type: sub.type });
  const change = async (current: KubeObject): Promise<KubeObject> => (await patch(current)).object;
  if (kind !== 'apply') return { settings, change };
  const { config } = await context.pace().run(parseConfig(bytes.toString()));
  const apply = async (old: KubeObject, mapping: ScaleMapping): Promise<KubeObject> => {
    // Validates the configuration as a scale.
    checkName(await change({ ...config, metadata: {} }), context.info.name);
    return appliedScale(old, { resource, config, mapping, settings, now: context.now() });
  };
  return { settings, change, apply };
}

interface AppliedScale {
  readonly resource: Resource;
  readonly config: KubeObject;
  readonly mapping: ScaleMapping;
  readonly settings: WriteSettings;
  readonly now: Date;
}

const shownAs = { subresource: 'scale', shownVersion: 'autoscaling/v1' };

/** Replicas without an owner belong to the manager `before-first-apply`. */
function withOwner(live: KubeObject, path: readonly string[], apiVersion: string): KubeObject {
  const entries = live.metadata.managedFields ?? [];
  if (read(live, path) === 0 || entries.some(({ fieldsV1 }) => owns(fieldsV1, path))) return live;
  const fieldsV1 = path.reduceRight<JsonObject>((inner, name) => ({ [`f:${name}`]: inner }), {});
  const [manager, operation, fieldsType, subresource] = ['before-first-apply', 'Update', 'FieldsV1', 'scale'] as const;
  const owner = { manager, operation, apiVersion, fieldsType, fieldsV1, subresource };
  return { ...live, metadata: { ...live.metadata, managedFields: [...entries, owner] } };
}

/** The manager that applies a scale owns the replicas of the scaled object. Replicas without any owner become zero. */
function appliedScale(old: KubeObject, { resource, config, mapping, settings, now }: AppliedScale): KubeObject {
  const { groupVersion: apiVersion, kind, type } = resource;
  const wanted: KubeObject = { apiVersion, kind, metadata: { name: old.metadata.name! } };
  const given = (config['spec'] as { replicas?: number } | undefined)?.replicas;
  if (given !== undefined) write(wanted, mapping.specReplicasPath, given);
  const { manager, options } = settings;
  const force = options.force === true;
  const live = withOwner(old, mapping.specReplicasPath, apiVersion);
  const { object } = applyPatch({ live, config: wanted, type, kind, manager, force, ...shownAs, apiVersion, now });
  if (resource.custom === undefined) checkReplicas(scaleOf(object, mapping));
  write(object, mapping.specReplicasPath, read(object, mapping.specReplicasPath));
  const isMine = (entry: { manager?: string; subresource?: string }): boolean => entry.manager === manager && entry.subresource === 'scale';
  withoutTime((object.metadata.managedFields ?? []).filter(isMine));
  return object;
}

function read(object: KubeObject, path: readonly string[]): number {
  let value: unknown = object;
  for (const key of path) value = (value as Record<string, unknown> | undefined)?.[key];
  return typeof value === 'number' ? value : 0;
}

function write(object: KubeObject, path: readonly string[], replicas: number): void {
  let holder: Record<string, unknown> = object;
  for (const key of path.slice(0, -1)) holder = (holder[key] ??= {}) as Record<string, unknown>;
  holder[path.at(-1)!] = replicas;
}

function checkScalable(object: KubeObject, { specReplicasPath }: ScaleMapping): void {
  let value: unknown = object;
  for (const key of specReplicasPath) value = (value as Record<string, unknown> | undefined)?.[key];
  if (value === undefined) throw status.internalError(`the spec replicas field ".${specReplicasPath.join('.')}" does not exist`);
}

function replicasOf(scale: KubeObject): number {
  return (scale['spec'] as { replicas?: number } | undefined)?.replicas ?? 0;
}

function checkReplicas(scale: KubeObject): void {
  const replicas = replicasOf(scale);
  if (replicas >= 0) return;
  const error = fieldError.invalid(FieldPath.of('spec', 'replicas'), replicas, 'must be greater than or equal to 0');
  throw status.invalidObject({ group: 'autoscaling', kind: 'Scale' }, scale.metadata.name ?? '', [error]);
}

function scaleOf(object: KubeObject, mapping: ScaleMapping): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = mapping.selectorOf(object);
  const wanted = read(object, mapping.specReplicasPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: Object.fromEntries(
      Object.entries({ name, namespace, uid, resourceVersion, creationTimestamp }).filter(([, value]) => value !== undefined),
    ),
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: { replicas: read(object, mapping.statusReplicasPath), ...(selector !== '' && { selector }) },
  };
}

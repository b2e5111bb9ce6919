import {
  asJson,
  FieldPath,
  fieldError,
  invalidOptions,
  jsonPatch,
  type KubeObject,
  mergePatch,
  parsePatchOptions,
  status,
  strategicMergePatch,
  updateManaged,
  validatePatchOptions,
} from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Exchange } from '../http/exchange.ts';
import { negotiate } from '../http/negotiate.ts';
import { type ScaleMapping, scaleMappings } from '../kinds/workloads/scale.ts';
import type { RequestContext } from '../registry/context.ts';
import { fresh } from '../registry/list.ts';
import { cachedEntry } from '../registry/objects.ts';
import { resetFieldsOf } from '../registry/reset-fields.ts';
import { objectOf, type Resource, readable, type Subresource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { checked } from './decode.ts';
import { patchKindOf } from './patch.ts';
import { send } from './read.ts';
import type { Serving } from './serving.ts';
import { bodyLimit, checkName, readObject, settingsFrom, type WriteSettings, writeSettings } from './write.ts';

interface Scaled {
  readonly resource: Resource;
  readonly sub: Subresource;
}

/** The scale subresource: the number of replicas of any kind that has one, as a `Scale`. */
export async function handleScale(serving: Serving, exchange: Exchange, context: RequestContext, scaled: Scaled): Promise<void> {
  const { resource, sub } = scaled;
  const mapping = resource.custom?.scale ?? scaleMappings.get(`${resource.group}/${resource.resource}`);
  if (mapping === undefined || sub.type === undefined) throw status.noSuchResource();
  const wanted = negotiate(exchange.headers.accept);
  const { namespace, name, verb } = context.info;
  if (verb === 'get') {
    await fresh(serving.cache);
    const entry = cachedEntry(serving, context, { resource, namespace, name });
    if (entry === undefined) throw status.notFound(resource, name);
    const converting = readable(resource, [entry]);
    if (converting !== undefined) await converting;
    if (resource.custom !== undefined) checkScalable(objectOf(resource, entry), mapping);
    return send(exchange, context, { code: 200, body: scaleText(resource, entry, mapping), wanted });
  }
  const { settings, change } =
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
    change: (old) => {
      const scale = change(scaleOf(old, mapping));
      checkName(scale, name);
      // Kinds that users added say themselves how many there may be.
      if (resource.custom === undefined) checkReplicas(scale);
      if (scale.metadata.resourceVersion) old.metadata.resourceVersion = scale.metadata.resourceVersion;
      else if (resource.custom === undefined) delete old.metadata.resourceVersion;
      const live = structuredClone(old);
      write(old, mapping.specReplicasPath, replicasOf(scale));
      recordScaling(resource, { live, updated: old, manager: settings.manager, now: context.now() });
      return { object: old, applied: true };
    },
  });
  const converting = readable(resource, [written.entry]);
  if (converting !== undefined) await converting;
  send(exchange, context, { code: 200, body: scaleText(resource, written.entry, mapping), wanted });
}

/** Kubernetes keeps no time for those who only scale, and so lists them before others who changed something. */
function recordScaling(resource: Resource, change: { live: KubeObject; updated: KubeObject; manager: string; now: Date }): void {
  const { updated } = change;
  updateManaged({
    ...change,
    type: resource.type,
    apiVersion: resource.groupVersion,
    subresource: 'scale',
    resetFields: resetFieldsOf(resource, 'scale'),
  });
  const entries = updated.metadata.managedFields ?? [];
  const scaling = entries.filter(({ subresource, manager }) => subresource === 'scale' && manager === change.manager);
  for (const entry of scaling) delete entry.time;
  const others = entries.filter((entry) => !scaling.includes(entry));
  const applied = others.filter(({ operation }) => operation === 'Apply');
  updated.metadata.managedFields = [...applied, ...scaling, ...others.filter((entry) => !applied.includes(entry))];
}

type Change = { settings: WriteSettings; change: (current: KubeObject) => KubeObject };

async function givenScale(serving: Serving, exchange: Exchange, context: RequestContext, { sub }: Scaled): Promise<Change> {
  const settings = writeSettings(context, 'UpdateOptions');
  const scale = await readObject(serving, exchange, {
    context,
    expected: { kind: sub.kind, groupVersion: sub.groupVersion, type: sub.type! },
    validation: settings.validation,
  });
  return { settings, change: () => scale };
}

async function patchedScale(exchange: Exchange, context: RequestContext, { resource, sub }: Scaled): Promise<Change> {
  const kind = patchKindOf(exchange.headers['content-type'], resource.custom === undefined);
  const options = parsePatchOptions(context.info.query);
  const errors = validatePatchOptions(options, kind === 'apply' ? 'apply' : 'other');
  const text = (await exchange.body(bodyLimit)).toString();
  if (errors.length > 0) throw invalidOptions('PatchOptions', errors);
  return {
    settings: settingsFrom(context, options),
    change: (current) => {
      const before = asJson(current);
      const result =
        kind === 'json'
          ? jsonPatch(before, text)
          : kind === 'strategic'
            ? strategicMergePatch(before, text, sub.type!)
            : mergePatch(before, text);
      checked(result, { kind: sub.kind, groupVersion: sub.groupVersion, type: sub.type! });
      return result as unknown as KubeObject;
    },
  };
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

function scaleText(resource: Resource, entry: CacheEntry, mapping: ScaleMapping): string {
  return `${JSON.stringify(scaleOf(objectOf(resource, entry), mapping))}\n`;
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

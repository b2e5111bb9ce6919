import { type Client, isNotFound, type Resource } from '@capstan/client';
import { type EventRecorder, ignoring } from '@capstan/controller';
import { BoundedMap, type JsonObject, type KubeObject, type OwnerReference } from '@capstan/machinery';
import type { WorkspaceTypeCache } from '../journal/workspace-type-cache.ts';
import type { OwnerGraph } from './graph.ts';
import { awaitsDependents, type Item, isMeant } from './item.ts';
import type { GarbageActions, OwnerState } from './reconcile.ts';

export interface ActionsOptions {
  readonly client: Client;
  readonly events: EventRecorder;
  readonly graph: OwnerGraph;
  readonly types: Pick<WorkspaceTypeCache, 'findOrAsk'>;
  readonly look: (uid: string) => void;
  readonly signal: AbortSignal;
}

/** How many absent owners are remembered. */
const remembered = 4096;

/** The actions of the collector on the server. */
export function serverActions({ client, events, graph, types, look, signal }: ActionsOptions): GarbageActions {
  const absent = new BoundedMap<string, true>(remembered);
  const resourceOf = ({ cluster, type, metadata }: Item): Resource => client.cluster(cluster).resource(type).in(metadata.namespace);

  /** The graph may be behind, so an owner counts as gone only if the server says so. */
  const askServer = async (reference: OwnerReference, item: Item): Promise<OwnerState> => {
    const { apiVersion, kind, name, uid } = reference;
    const { cluster } = item;
    const type = await types.findOrAsk(cluster, `${apiVersion}/${kind}`, signal);
    if (type === undefined) throw new Error(`the owner ${kind} "${name}" has the type ${apiVersion}, which the server does not serve`);
    const { namespace } = item.metadata;
    if (type.namespaced && namespace === undefined) return 'impossible';
    const place = JSON.stringify([cluster, uid, apiVersion, kind, namespace, name]);
    if (absent.get(place)) return 'dangling';
    const owner = await ignoring(client.cluster(cluster).resource(type).in(namespace).metadata().get(name, { signal }), isNotFound);
    if (owner?.metadata.uid === uid) return awaitsDependents(owner) ? 'waiting' : 'solid';
    absent.set(place, true);
    return 'dangling';
  };

  /** Patches the object as it is now, if it is still the same one. */
  const patch = async (item: Item, change: (metadata: KubeObject['metadata']) => JsonObject | undefined): Promise<void> => {
    const resource = resourceOf(item).metadata();
    const name = item.metadata.name ?? '';
    const now = await ignoring(resource.get(name, { signal }), isNotFound);
    if (now === undefined || now.metadata.uid !== item.uid) return;
    const metadata = change(now.metadata);
    if (metadata === undefined) return;
    const guarded = { resourceVersion: now.metadata.resourceVersion ?? '', ...metadata };
    await ignoring(resource.patch(name, { type: 'merge', patch: { metadata: guarded } }, { signal }), isNotFound);
  };

  return {
    look,
    async stateOf(reference, item) {
      const owner = graph.get(reference.uid);
      if (owner !== undefined && isMeant(reference, item, owner)) return awaitsDependents(owner) ? 'waiting' : 'solid';
      const state = await askServer(reference, item);
      const elsewhere = owner?.metadata.namespace !== undefined && owner.metadata.namespace !== item.metadata.namespace;
      if (elsewhere || state === 'impossible') reportNamespace(events, reference, item);
      return state;
    },
    async remove(item, propagationPolicy) {
      const { uid, metadata } = item;
      const { name = '', resourceVersion } = metadata;
      const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      await ignoring(resourceOf(item).delete(name, { propagationPolicy, preconditions, signal }), isNotFound);
    },
    dropOwners: (item, owners) =>
      patch(item, ({ ownerReferences = [] }) => {
        const kept = ownerReferences.filter(({ uid }) => !owners.has(uid));
        return kept.length === ownerReferences.length ? undefined : { ownerReferences: asJson(kept) };
      }),
    unblock: (item) =>
      patch(item, ({ ownerReferences = [] }) =>
        ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)
          ? { ownerReferences: asJson(ownerReferences.map((one) => ({ ...one, blockOwnerDeletion: false }))) }
          : undefined,
      ),
    dropFinalizer: (item, finalizer) =>
      patch(item, ({ finalizers = [] }) =>
        finalizers.includes(finalizer) ? { finalizers: finalizers.filter((one) => one !== finalizer) } : undefined,
      ),
  };
}

function asJson(references: readonly OwnerReference[]): JsonObject[] {
  return references as unknown as JsonObject[];
}

function reportNamespace(events: EventRecorder, { apiVersion, kind, name, uid }: OwnerReference, item: Item): void {
  const { type, metadata } = item;
  const namespace = metadata.namespace ?? '';
  const object = { apiVersion: type.group === '' ? type.version : `${type.group}/${type.version}`, kind: type.kind, metadata };
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  events.warning(object, 'OwnerRefInvalidNamespace', `ownerRef ${owner} does not exist in namespace "${namespace}"`);
}

import type { ClusterId } from '@capstan/api';
import { fieldsOf, type GroupResource } from '@capstan/machinery';
import type { CacheEvent } from '../../cache/event-ring.ts';
import { clusterOfKey } from '../../cache/key.ts';
import { endOf, type ResourceCache, type WatchCache } from '../../cache/watch-cache.ts';
import { mirrorAnnotation, type ReferencedResource, referencesOfPod, referenceTo } from './references.ts';

const pods: GroupResource = { group: '', resource: 'pods' };
const none: ReadonlySet<string> = new Set();
const mark = '"nodeName":"';

/** The references of a pod; undefined until somebody asks for them, and null if the pod turns out to belong to another node. */
type References = ReadonlySet<string> | undefined | null;

/**
 * The pods of each node, and the objects that they refer to. Nothing is recorded before the first node asks. After that, a change of a pod
 * costs a search in its text; it is parsed when its node asks for something.
 */
export class PodsOfNodes {
  readonly #held: ResourceCache;
  /** `cluster/node` → key of the pod → references. */
  readonly #byNode = new Map<string, Map<string, References>>();
  #entries: ResourceCache['entries'] | undefined;

  constructor(cache: WatchCache) {
    this.#held = cache.resource(pods);
  }

  /** Whether a pod of the node refers to an object of its namespace. */
  refers(place: { cluster: ClusterId; node: string; namespace: string }, resource: ReferencedResource, name: string): boolean {
    const { cluster, node, namespace } = place;
    const wanted = referenceTo(resource, name);
    const prefix = `${cluster}/${namespace}/`;
    for (const key of this.#podsOf(cluster, node).keys())
      if (key.startsWith(prefix) && this.#referencesOf(key, cluster, node).has(wanted)) return true;
    return false;
  }

  /** The claims that the pods of a node use. */
  *claims(cluster: ClusterId, node: string): Generator<{ namespace: string; name: string }> {
    const prefix = referenceTo('persistentvolumeclaims', '');
    for (const key of this.#podsOf(cluster, node).keys()) {
      const namespace = key.slice(cluster.length + 1, key.lastIndexOf('/'));
      for (const reference of this.#referencesOf(key, cluster, node))
        if (reference.startsWith(prefix)) yield { namespace, name: reference.slice(prefix.length) };
    }
  }

  #podsOf(cluster: ClusterId, node: string): Map<string, References> {
    this.#follow();
    return this.#byNode.get(`${cluster}/${node}`) ?? new Map();
  }

  #referencesOf(key: string, cluster: ClusterId, node: string): ReadonlySet<string> {
    const pods = this.#byNode.get(`${cluster}/${node}`)!;
    let references = pods.get(key);
    if (references === undefined) {
      const pod = this.#held.entries.get(key)?.passingObject;
      const isOwn = pod !== undefined && fieldsOf(pod['spec'])['nodeName'] === node;
      // A node can create mirror pods itself, so these must not give it access to anything.
      references = !isOwn ? null : pod.metadata.annotations?.[mirrorAnnotation] !== undefined ? none : referencesOfPod(pod);
      pods.set(key, references);
    }
    return references ?? none;
  }

  /** Begins to follow the pods, or begins again: the cache replaces its entries after losing the connection to the store. */
  #follow(): void {
    const { entries, listeners } = this.#held;
    if (this.#entries === entries) return;
    if (this.#entries === undefined) listeners.add({ changed: (events) => this.#changed(events) });
    this.#entries = entries;
    this.#byNode.clear();
    entries.walk('', endOf(''), ({ key, text }) => {
      for (const node of mentionedNodes(text)) this.#add(key, node);
      return true;
    });
  }

  #changed(events: readonly CacheEvent[]): void {
    for (const { type, entry, previous } of events) {
      if (previous !== undefined) for (const node of mentionedNodes(previous.text)) this.#remove(entry.key, node);
      if (type !== 'DELETED') for (const node of mentionedNodes(entry.text)) this.#add(entry.key, node);
    }
  }

  #add(key: string, node: string): void {
    const place = `${clusterOfKey(key)}/${node}`;
    let pods = this.#byNode.get(place);
    if (pods === undefined) this.#byNode.set(place, (pods = new Map()));
    pods.set(key, undefined);
  }

  #remove(key: string, node: string): void {
    const place = `${clusterOfKey(key)}/${node}`;
    const pods = this.#byNode.get(place);
    pods?.delete(key);
    if (pods?.size === 0) this.#byNode.delete(place);
  }
}

/** The values of all fields named `nodeName` in the text of a pod: that of its spec, and labels or annotations of that name. */
function mentionedNodes(text: string): string[] {
  const found: string[] = [];
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at)) {
    at += mark.length;
    found.push(text.slice(at, text.indexOf('"', at)));
  }
  return found;
}

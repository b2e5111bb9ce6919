import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, clusterOf, isNotFound } from '@capstan/client';
import { formatTime, type KubeObject } from '@capstan/machinery';
import { TokenBucket } from '../queue/rate.ts';

export interface RecordedEvent {
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  readonly reason: string;
  /** For people. */
  readonly message: string;
}

export interface RecorderOptions {
  readonly client: Client;
  /** The name of the controller, as the source of its events. */
  readonly component: string;
  readonly now?: () => number;
  /** In milliseconds: how long events wait, so that the writes that they tell about come first. */
  readonly delay?: number;
  readonly onError?: (error: unknown) => void;
}

const usualDelay = 100;

/** More different messages than this for one reason are combined into one event. */
const similarLimit = 10;
const remembered = 4096;
/** At the same time. Events are for people: thousands of them must not hold up the work that they tell about. */
const mostWrites = 4;
/** Per object: a burst, then one event in five minutes. */
const spam = { burst: 25, perSecond: 1 / 300 };

interface Entry {
  readonly object: KubeObject;
  readonly event: RecordedEvent;
  readonly name: string;
  readonly first: number;
  last: number;
  count: number;
  /** The count that the server has; 0 before the event was created. */
  written: number;
  writing: boolean;
}

const eventType = { group: '', version: 'v1', resource: 'events', namespaced: true };

/** Records events for people. A repeated event raises a count. Recording never delays or fails a reconcile. */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #messages = new Map<string, Set<string>>();
  readonly #limits = new Map<string, TokenBucket>();
  readonly #writes = new Set<Promise<void>>();
  readonly #waiting: Entry[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  normal(object: KubeObject, reason: string, message: string): void {
    this.record(object, { type: 'Normal', reason, message });
  }

  warning(object: KubeObject, reason: string, message: string): void {
    this.record(object, { type: 'Warning', reason, message });
  }

  record(object: KubeObject, given: RecordedEvent): void {
    const now = this.#now();
    const about = `${clusterOf(object) ?? ''}\n${object.metadata.uid ?? ''}\n${object.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
    const limit = recall(this.#limits, about, () => new TokenBucket(spam, now));
    const kind = `${about}\n${given.type}\n${given.reason}`;
    const messages = recall(this.#messages, kind, () => new Set<string>());
    if (messages.size <= similarLimit) messages.add(given.message);
    const combined = messages.size > similarLimit;
    const entry = recall(this.#entries, combined ? kind : `${kind}\n${given.message}`, () => ({
      object: asReference(object),
      event: combined ? { ...given, message: `(combined from similar events): ${given.message}` } : given,
      name: `${object.metadata.name ?? 'unnamed'}.${randomBytes(8).toString('hex')}`,
      first: now,
      last: now,
      count: 0,
      written: 0,
      writing: false,
    }));
    entry.count++;
    entry.last = now;
    if (entry.writing || !limit.tryTake(now)) return;
    entry.writing = true;
    this.#waiting.push(entry);
    if (this.#writes.size >= mostWrites) return;
    const writing = this.#writeAll().finally(() => this.#writes.delete(writing));
    this.#writes.add(writing);
  }

  /** Resolves when all events recorded so far are written, or have failed. */
  async flush(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  /** Events beyond those that are remembered were too many for anybody to read. */
  async #writeAll(): Promise<void> {
    await sleep(this.#options.delay ?? usualDelay);
    while (this.#waiting.length > remembered) this.#waiting.shift()!.writing = false;
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) await this.#write(entry);
  }

  /** Writes until the server has the count: events that are recorded during a write are part of the next one. */
  async #write(entry: Entry): Promise<void> {
    try {
      while (entry.written < entry.count) {
        const count = entry.count;
        await this.#send(entry, count);
        entry.written = count;
      }
    } catch (error) {
      this.#options.onError?.(error);
    } finally {
      entry.writing = false;
    }
  }

  async #send(entry: Entry, count: number): Promise<void> {
    const cluster = clusterOf(entry.object);
    const client = cluster === undefined ? this.#options.client : this.#options.client.cluster(cluster);
    const events = client.resource(eventType).in(entry.object.metadata.namespace ?? 'default');
    if (entry.written > 0) {
      try {
        const patch = { count, lastTimestamp: formatTime(new Date(entry.last)) };
        await events.patch(entry.name, { type: 'merge', patch });
        return;
      } catch (error) {
        // Events expire soon: this one is created again under the same name.
        if (!isNotFound(error)) throw error;
      }
    }
    await events.create(this.#body(entry, count));
  }

  #body({ object, event, name, first, last }: Entry, count: number): KubeObject {
    const { component } = this.#options;
    const { namespace, uid, resourceVersion } = object.metadata;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name: object.metadata.name,
        ...(namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      ...event,
      count,
      firstTimestamp: formatTime(new Date(first)),
      lastTimestamp: formatTime(new Date(last)),
      source: { component },
      reportingComponent: component,
      reportingInstance: component,
    };
  }
}

/** Only the fields that an event needs, so that the rest of the object is not kept in memory. */
function asReference({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(annotations !== undefined && { annotations }),
    },
  };
}

/** Returns the value of a key, creating it if it is missing. The least recently used one is forgotten. */
function recall<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key) ?? make();
  map.delete(key);
  map.set(key, found);
  if (map.size > remembered) map.delete(map.keys().next().value!);
  return found;
}

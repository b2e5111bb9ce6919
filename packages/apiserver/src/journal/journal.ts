import type { KubeObject } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';
import type { AnswerStream, Exchange } from '../http/exchange.ts';
import type { Page } from '../registry/page.ts';

export const journalPath = '/capstan/journal';

/** A reader that falls further behind than this is disconnected and must start over. */
const mostUnread = 32 << 20;
const slice = 256 << 10;
/** Lets both sides detect a dead connection. */
const heartbeatEvery = 20_000;

/** Events are numerous, and neither own objects nor are owned. */
const leftOut = new Set(['core/events', 'events.k8s.io/events']);

type Kind = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * Streams all objects of all workspaces and their changes. Each line has only the identity, owners, finalizers and deletion timestamp of an
 * object. First come all objects, then a SYNCED line, then every change. An object may be sent twice; the higher revision is the newer.
 */
export class Journal implements Disposable {
  readonly #cache: WatchCache;
  readonly #readers = new Set<Reader>();
  readonly #heartbeat: NodeJS.Timeout;

  constructor(cache: WatchCache) {
    this.#cache = cache;
    this.#heartbeat = setInterval(() => {
      for (const reader of this.#readers) reader.beat();
    }, heartbeatEvery);
    this.#heartbeat.unref();
    cache.followAll((name, events) => {
      if (this.#readers.size === 0 || leftOut.has(name)) return;
      let text = '';
      for (const { type, entry } of events) text += line(type, name, entry);
      for (const reader of this.#readers) reader.tell(text);
    });
  }

  readonly page: Page = async (exchange) => {
    const reader = new Reader(exchange, () => this.#readers.delete(reader));
    this.#readers.add(reader);
    await reader.begin(this.#cache.resources());
  };

  /** Makes every reader start over, because changes were missed. */
  endAll(): void {
    for (const reader of this.#readers) reader.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
    this.endAll();
  }
}

/** Sends the existing objects in slices; changes are buffered until all have been sent. */
class Reader {
  readonly #stream: AnswerStream;
  readonly #onDone: () => void;
  #waiting: string | undefined = '';
  #done = false;

  constructor(exchange: Exchange, onDone: () => void) {
    this.#stream = exchange.stream(200, 'application/x-ndjson');
    this.#onDone = onDone;
    exchange.onClose(() => this.#finish());
  }

  async begin(resources: Iterable<readonly [string, ResourceCache]>): Promise<void> {
    for (const [name, { entries }] of [...resources]) {
      if (leftOut.has(name)) continue;
      const all: CacheEntry[] = [];
      entries.walk('', '\u{10ffff}', (entry) => {
        all.push(entry);
        return true;
      });
      await this.#write(name, all);
      if (this.#done) return;
    }
    this.#stream.write(`{"type":"SYNCED"}\n${this.#waiting}`);
    this.#waiting = undefined;
  }

  tell(text: string): void {
    if (this.#waiting !== undefined) this.#waiting += text;
    else this.#stream.write(text);
    if (this.#stream.pending + (this.#waiting?.length ?? 0) > mostUnread) this.end();
  }

  beat(): void {
    if (this.#waiting === undefined) this.#stream.write('\n');
  }

  end(): void {
    if (this.#done) return;
    this.#finish();
    this.#stream.end();
  }

  async #write(name: string, entries: readonly CacheEntry[]): Promise<void> {
    let chunk = '';
    for (const [index, entry] of entries.entries()) {
      chunk += line('ADDED', name, entry);
      if (chunk.length < slice && index < entries.length - 1) continue;
      if (this.#done) return;
      this.#stream.write(chunk);
      chunk = '';
      // Yield between slices, and let the reader catch up.
      await (this.#stream.pending > slice ? new Promise<void>((resolve) => this.#stream.onDrain(resolve)) : new Promise(setImmediate));
    }
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#onDone();
  }
}

function line(type: Kind, name: string, entry: CacheEntry): string {
  const { kind, apiVersion, metadata } = entry.parseHead();
  const slash = name.lastIndexOf('/');
  // Bound kinds are stored under a name with a suffix after a colon.
  const resource = name.slice(slash + 1).split(':', 1)[0];
  return `${JSON.stringify({ type, cluster: clusterOfKey(entry.key), resource, kind, apiVersion, metadata: slim(metadata) })}\n`;
}

function slim({ name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp }: KubeObject['metadata']): object {
  return { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp };
}

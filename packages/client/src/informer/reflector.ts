import { setTimeout as sleep } from 'node:timers/promises';
import { clusterAnnotation } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { Backoff } from '@capstan/machinery';
import { ApiError, ConnectionError, isExpired, isTooLargeResourceVersion } from '../rest/error.ts';
import type { WatchEvent } from '../rest/options.ts';
import type { Resource } from '../rest/resource.ts';
import { defaultIdleTimeout } from '../rest/watch.ts';
import { keyText } from './key.ts';

/** In milliseconds. */
const healthyAfter = 10_000;
/** In milliseconds: a server may accept a watch and end it immediately, which does not count as recovery. */
const recoveredAfter = 1_000;
const initialEventsEnd = 'k8s.io/initial-events-end';

/** Receives the state. Calls do not overlap. */
export interface Sink<T extends KubeObject> {
  /** The complete state, at first and whenever history was lost. */
  replace(objects: ReadonlyMap<string, T>): void;
  put(object: T): void;
  remove(object: T): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly sink: Sink<T>;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Applied to each object before it is stored. */
  readonly transform?: ((object: T) => T) | undefined;
  /** All objects are of the same workspace, so that their keys need not name it. */
  readonly oneWorkspace?: boolean | undefined;
  /** In milliseconds: a connection that is silent for this long is closed. */
  readonly idleTimeout?: number | undefined;
  /** In milliseconds: a server that accepts a streamed list but falls silent before its end is asked for pages instead. */
  readonly initialTimeout?: number | undefined;
  readonly pageSize?: number | undefined;
  /** How long a watch lasts before it is opened again, in seconds; at random, up to twice as long. */
  readonly watchSeconds?: number | undefined;
  /** Called for every failure that is retried. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called once when it works again after failures. */
  readonly onRecovered?: (() => void) | undefined;
  /** In milliseconds: the longest wait between two attempts, unless the server asks for more. */
  readonly longestWait?: number | undefined;
  readonly random?: (() => number) | undefined;
}

/** Keeps a sink equal to the server's state while it runs: through restarts, outages and lost history. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  /** The version of the sink; undefined before the first state and after history was lost. */
  #revision: string | undefined;
  #streams = true;
  #isFailing = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff({ base: 200, max: options.longestWait ?? 30_000, random: this.#random });
  }

  /** The version up to which the sink is complete. */
  get revision(): string | undefined {
    return this.#revision;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#revision !== undefined) await this.#watch(signal);
        else if (this.#streams) await this.#stream(signal);
        else await this.#list(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    // A long silent watch is dead or has no events: in both cases the next one resumes where it was.
    if (error instanceof ConnectionError && error.fault === 'idle-timeout') return;
    this.#isFailing = true;
    this.#options.onError?.(error);
    if (isExpired(error) || (error instanceof ApiError && error.code === 410) || isTooLargeResourceVersion(error))
      this.#revision = undefined;
    const asked = error instanceof ApiError && error.retryAfter !== undefined ? error.retryAfter * 1000 : 0;
    await sleep(Math.max(asked, this.#backoff.next()), undefined, { signal }).catch(() => {});
  }

  /** One request that sends the state as events, then a bookmark, then changes. */
  async #stream(signal: AbortSignal): Promise<void> {
    const { initialTimeout = 10_000 } = this.#options;
    const stop = new AbortController();
    let state: Map<string, T> | undefined = new Map();
    let silent = false;
    let opened = false;
    const onOpen = (): void => {
      opened = true;
      timer.refresh();
    };
    const timer = setTimeout(() => {
      silent = true;
      stop.abort();
    }, initialTimeout);
    try {
      await this.#options.resource.follow(
        { ...this.#watchOptions(AbortSignal.any([signal, stop.signal])), sendInitialEvents: true, onOpen },
        (event) => {
          if (state === undefined) return this.#take(event);
          this.#simplify(event.object);
          timer.refresh();
          if (event.type === 'BOOKMARK') {
            if (event.object.metadata.annotations?.[initialEventsEnd] !== 'true') return;
            clearTimeout(timer);
            const complete = state;
            state = undefined;
            this.#complete(complete, event.object.metadata.resourceVersion ?? '');
          } else if (event.type === 'DELETED') state.delete(keyText(event.object));
          else this.#collect(state, event.object);
        },
      );
      if (state !== undefined) throw new ConnectionError('failed', 'the server ended the watch before it had sent its complete state');
    } catch (error) {
      const refused = refusesStreams(error);
      if (!signal.aborted && state !== undefined && (silent || refused)) {
        // A server that did not even begin to answer may just be slow: try a stream again next time.
        if (opened || refused) this.#streams = false;
        return this.#list(signal);
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { resource, labelSelector, fieldSelector, pageSize = 500 } = this.#options;
    const state = new Map<string, T>();
    let revision = '';
    for await (const page of resource.pages({ labelSelector, fieldSelector, limit: pageSize, signal })) {
      const type = itemType(page as unknown as KubeObject);
      for (const item of page.items) {
        this.#simplify(item);
        this.#collect(state, type === undefined ? item : { ...type, ...item });
      }
      revision = page.metadata.resourceVersion;
    }
    this.#complete(state, revision);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    let events = 0;
    const before = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const onOpen = (): void => {
      if (this.#isFailing) timer = setTimeout(() => this.#recovered(), recoveredAfter);
    };
    try {
      await this.#options.resource.follow({ ...this.#watchOptions(signal), resourceVersion: this.#revision!, onOpen }, (event) => {
        events++;
        this.#take(event);
      });
    } finally {
      clearTimeout(timer);
      // It worked for a while: the next failure is a new one.
      if (performance.now() - before > healthyAfter) this.#backoff.reset();
    }
    // A server that keeps ending watches immediately must not be asked in a tight loop.
    if (events === 0 && performance.now() - before < recoveredAfter)
      throw new ConnectionError('failed', 'the server ended a watch immediately');
  }

  #watchOptions(signal: AbortSignal) {
    const { labelSelector, fieldSelector, idleTimeout = defaultIdleTimeout, watchSeconds = 300 } = this.#options;
    // Random, so that a thousand clients do not return at the same moment.
    const timeoutSeconds = watchSeconds + Math.floor(watchSeconds * this.#random());
    return { labelSelector, fieldSelector, idleTimeout, signal, timeoutSeconds, allowWatchBookmarks: true };
  }

  #take(event: WatchEvent<T>): void {
    const { sink, transform } = this.#options;
    this.#simplify(event.object);
    if (event.type === 'DELETED') sink.remove(event.object);
    else if (event.type !== 'BOOKMARK') sink.put(transform === undefined ? event.object : transform(event.object));
    const version = event.object.metadata.resourceVersion;
    if (version !== undefined && version !== '') this.#revision = version;
    this.#backoff.reset();
    this.#recovered();
  }

  /** Keys of the objects of one workspace do not name it: controllers that know nothing of workspaces work in any of them. */
  #simplify({ metadata }: KubeObject): void {
    if (this.#options.oneWorkspace === true && metadata.annotations !== undefined) delete metadata.annotations[clusterAnnotation];
  }

  #collect(state: Map<string, T>, object: T): void {
    const { transform } = this.#options;
    state.set(keyText(object), transform === undefined ? object : transform(object));
  }

  #complete(state: ReadonlyMap<string, T>, revision: string): void {
    this.#options.sink.replace(state);
    this.#revision = revision;
    this.#backoff.reset();
    this.#recovered();
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.onRecovered?.();
  }
}

/** Servers before 1.27, those with the feature turned off, and those that reject unknown options. */
function refusesStreams(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 400 || error.code === 422 || error.code === 405);
}

/** Items of a list carry no type; it is derived from the list's. */
function itemType(list: KubeObject): { apiVersion: string; kind: string } | undefined {
  const { kind, apiVersion } = list;
  return typeof kind === 'string' && kind.endsWith('List') ? { apiVersion, kind: kind.slice(0, -'List'.length) } : undefined;
}

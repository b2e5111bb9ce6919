import { type Client, formatKey, type Informer, type InformerFactory, isConflict, isNotFound, objectKey, parseKey } from '@capstan/client';
import { type ControllerContext, done, type Result, type Runnable, requeueAfter, WorkQueue } from '@capstan/controller';
import { type KubeObject, onlyAmounts, printSource, quotaScopes, quotaSource } from '@capstan/machinery';
import { Census, type UsageChange } from './census.ts';
import { placeOf } from './place.ts';
import { reconcileQuota } from './reconcile.ts';
import { Settling } from './settling.ts';

const quotas = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
const metadataOnly = { metadataOnly: true };
const name = 'resourcequota';
const byPlace = 'place';
/** Stands in the queue among quotas: ask what types there are. */
const rediscover = '?';
/** A type is served a moment after its definition says so. */
const typeSettles = 500;
/** Deletions come in bursts: one count is for all of them. */
const gather = 50;
/** A type that cannot be listed holds up the others only so long. */
const fillTimeout = 2_000;

export interface QuotaControllerOptions {
  /** How many quotas at the same time. */
  readonly concurrency?: number | undefined;
  /** In milliseconds: every quota is counted again so often. */
  readonly resyncEvery?: number | undefined;
  /** In milliseconds: what was charged longer ago is for something that can be seen by now. */
  readonly settles?: number | undefined;
}

/** Fills the status of every ResourceQuota: one census for all namespaces of all workspaces, of those types alone that some quota limits. */
export class QuotaController implements Runnable {
  readonly name = name;
  readonly #options: QuotaControllerOptions;

  constructor(options: QuotaControllerOptions = {}) {
    this.#options = options;
  }

  prepare(informers: InformerFactory): void {
    informers.informer(quotas).addIndex(byPlace, (quota) => [placeOf(quota)]);
    informers.informer(definitions, metadataOnly);
  }

  async run(context: ControllerContext): Promise<void> {
    const { concurrency = 8, resyncEvery = 5 * 60_000, settles = 3_000 } = this.#options;
    const { informers, metrics, signal } = context;
    const known = informers.informer(quotas);
    const queue = new WorkQueue<string>({ keyOf: (key) => key, backoff: { base: 50, max: 60_000 }, rate: { perSecond: 100, burst: 500 } });
    const settling = new Settling(settles, () => performance.now());
    await using census = new Census({
      client: context.client,
      now: () => new Date(),
      onChange: (source, place, change) => {
        for (const quota of known.byIndex(byPlace, place)) {
          if (!limits(quota, source)) continue;
          if (change.type === 'new') noteNew(settling, quota, change);
          // What is new was charged before; this is a look whether it was.
          queue.addAfter(keyOf(quota), change.type === 'new' ? settles : gather);
        }
      },
      onError: (error, source) => context.onError(error, { name: source }),
    });
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name }, read: () => queue.depth });
    metrics.gauge('resourcequota_followed_types', 'Types whose objects are counted.', { read: () => census.size });
    await informers.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(followQuotas({ known, queue, settling, settles }));
    cleanup.use(
      informers.informer(definitions, metadataOnly).onChange((change) => {
        if (change.type !== 'added' || !change.initial) queue.addAfter(rediscover, typeSettles);
      }),
    );
    const timer = setInterval(() => {
      for (const quota of known.list()) queue.add(keyOf(quota), 'resync');
    }, resyncEvery);
    cleanup.defer(() => clearInterval(timer));
    const close = (): void => queue.close();
    signal.addEventListener('abort', close, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', close));
    if (signal.aborted) close();
    const work = new Work({ context, known, queue, census, settling });
    await Promise.all(Array.from({ length: concurrency }, () => work.run()));
  }
}

interface Parts {
  readonly context: ControllerContext;
  readonly known: Informer;
  readonly queue: WorkQueue<string>;
  readonly census: Census;
  readonly settling: Settling;
}

class Work {
  readonly #parts: Parts;
  #types: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { queue, context } = this.#parts;
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      if (!context.isLeading()) {
        queue.done(key);
        queue.close();
        return;
      }
      try {
        const result = key === rediscover ? await this.#rediscover() : await this.#reconcile(key);
        queue.forget(key);
        if (result.type === 'requeueAfter') queue.addAfter(key, result.milliseconds);
      } catch (error) {
        if (!context.drop.aborted) context.onError(error, parseKey(key));
        queue.addFailed(key);
      }
      queue.done(key);
    }
  }

  /** Types are asked for when the first quota is there, not before. */
  async #reconcile(key: string): Promise<Result> {
    const { known, census, settling, context } = this.#parts;
    const quota = known.get(parseKey(key));
    if (quota === undefined) return done;
    await this.#knownTypes();
    const { drop } = context;
    const place = placeOf(quota);
    try {
      return await reconcileQuota(quota, {
        follow: (source) => census.follow(source),
        filled: (sources) => census.filled(sources, { signal: drop, within: fillTimeout }),
        usage: (source, scopes) => census.usage(source, place, scopes),
        pending: (what) => settling.pending(key, what),
        writeStatus: (counted) => clientOf(context.client, key).resource(quotas).updateStatus(counted, { signal: drop }),
      });
    } catch (error) {
      // Charged meanwhile: the copy will have it in a moment.
      if (isConflict(error)) return requeueAfter(gather);
      if (isNotFound(error)) return done;
      throw error;
    }
  }

  async #rediscover(): Promise<Result> {
    const { known, queue } = this.#parts;
    if (known.size === 0) this.#types = undefined;
    else await this.#refresh();
    for (const quota of known.list()) queue.add(keyOf(quota), 'resync');
    return done;
  }

  #knownTypes(): Promise<void> {
    return this.#types ?? this.#refresh();
  }

  #refresh(): Promise<void> {
    const { census, context } = this.#parts;
    const types = census.refresh(context.signal);
    this.#types = types;
    types.catch(() => {
      if (this.#types === types) this.#types = undefined;
    });
    return types;
  }
}

function followQuotas({ known, queue, settling, settles }: Pick<Parts, 'known' | 'queue' | 'settling'> & { settles: number }): Disposable {
  return known.onChange((change) => {
    const key = keyOf(change.object);
    if (change.type === 'deleted') return settling.forget(key);
    if (change.type === 'added') {
      if (change.initial) settling.inherit(key);
      return queue.add(key, change.initial ? 'resync' : 'fresh');
    }
    settling.charged(key, change.old, change.object);
    // What was charged is looked at when it has settled: not everything that is charged is stored in the end.
    if (isSameSpec(change.old, change.object)) queue.addAfter(key, settles);
    else queue.add(key);
  });
}

function noteNew(settling: Settling, quota: KubeObject, { object, measure }: Extract<UsageChange, { type: 'new' }>): void {
  if (!quotaScopes(quota).every((scope) => measure.isInScope(scope, object))) return;
  const hard = hardOf(quota);
  settling.created(
    keyOf(quota),
    onlyAmounts(measure.usage(object, new Date()), (what) => Object.hasOwn(hard, what)),
  );
}

function isSameSpec(one: KubeObject, other: KubeObject): boolean {
  return JSON.stringify(one['spec']) === JSON.stringify(other['spec']);
}

function limits(quota: KubeObject, source: string): boolean {
  return Object.keys(hardOf(quota)).some((what) => {
    const found = quotaSource(what);
    return found !== undefined && printSource(found) === source;
  });
}

function hardOf(quota: KubeObject): object {
  return (quota['spec'] as { hard?: object } | undefined)?.hard ?? {};
}

function keyOf(quota: KubeObject): string {
  return formatKey(objectKey(quota));
}

function clientOf(client: Client, key: string): Client {
  const { cluster } = parseKey(key);
  return cluster === undefined ? client : client.cluster(cluster);
}

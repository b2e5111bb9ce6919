import { type Client, formatKey, type Informer, type InformerFactory, isConflict, objectKey, parseKey } from '@capstan/client';
import { type ControllerContext, done, type Result, type Runnable, requeueAfter, WorkQueue, whenOutdated } from '@capstan/controller';
import { isWorkspaceQuota, type KubeObject, onlyAmounts, printSource, quotaScopes, quotaSource } from '@capstan/machinery';
import { Census } from './census.ts';
import { type Place, placeKey, placeOf, reachOf, wholeOf } from './place.ts';
import { reconcileQuota } from './reconcile.ts';
import { Settling } from './settling.ts';
import type { UsageChange } from './usage-change.ts';

const quotas = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };
const name = 'resourcequota';
const byPlace = 'place';
const byCluster = 'cluster';
/** A kind is served a moment after its definition says so. */
const typeSettles = 500;
/** Deletions come in bursts: one count is for all of them. */
const gather = 50;

export interface QuotaControllerOptions {
  /** How many quotas at the same time. */
  readonly concurrency?: number | undefined;
  /** In milliseconds: every quota is counted again so often. */
  readonly resyncEvery?: number | undefined;
  /** In milliseconds: what was charged longer ago is for something that can be seen by now. */
  readonly settles?: number | undefined;
}

/** Fills the status of every ResourceQuota: one census for all namespaces of all workspaces, of what some quota limits. */
export class QuotaController implements Runnable {
  readonly name = name;
  readonly #options: QuotaControllerOptions;

  constructor(options: QuotaControllerOptions = {}) {
    this.#options = options;
  }

  prepare(informers: InformerFactory): void {
    const known = informers.informer(quotas);
    known.addIndex(byPlace, (quota) => [placeKey(reachOf(quota))]);
    known.addIndex(byCluster, (quota) => [placeOf(quota).cluster]);
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
        for (const quota of quotasOver(known, place)) {
          if (!limits(quota, source)) continue;
          if (change.type === 'new') noteNew(settling, quota, change);
          // What is new was charged before; this is a look whether it was.
          queue.addAfter(keyOf(quota), change.type === 'new' ? settles : gather);
        }
      },
      onTypes: (cluster) => {
        for (const quota of known.byIndex(byCluster, cluster)) queue.addAfter(keyOf(quota), typeSettles);
      },
      onGap: () => {
        for (const quota of known.list()) {
          settling.inherit(keyOf(quota));
          queue.add(keyOf(quota), 'resync');
        }
      },
      onError: (error, what) => context.onError(error, { name: what }),
    });
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name }, read: () => queue.depth });
    metrics.gauge('resourcequota_followed_types', 'Kinds of which copies are kept.', { read: () => census.size });
    await informers.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(followQuotas({ known, queue, settling, settles }));
    const timer = setInterval(() => {
      for (const quota of known.list()) queue.add(keyOf(quota), 'resync');
    }, resyncEvery);
    cleanup.defer(() => clearInterval(timer));
    const close = (): void => queue.close();
    signal.addEventListener('abort', close, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', close));
    if (signal.aborted) close();
    await Promise.all(Array.from({ length: concurrency }, () => work({ context, known, queue, census, settling })));
  }
}

interface Parts {
  readonly context: ControllerContext;
  readonly known: Informer;
  readonly queue: WorkQueue<string>;
  readonly census: Census;
  readonly settling: Settling;
}

async function work(parts: Parts): Promise<void> {
  const { queue, context } = parts;
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    if (!context.isLeading()) {
      queue.done(key);
      queue.close();
      return;
    }
    try {
      const result = await reconcileOne(key, parts);
      queue.forget(key);
      if (result.type === 'requeueAfter') queue.addAfter(key, result.milliseconds);
    } catch (error) {
      if (!context.drop.aborted) context.onError(error, parseKey(key));
      queue.addFailed(key);
    }
    queue.done(key);
  }
}

async function reconcileOne(key: string, { known, census, settling, context }: Parts): Promise<Result> {
  const quota = known.get(parseKey(key));
  if (quota === undefined) return done;
  const { drop } = context;
  const place = reachOf(quota);
  try {
    return await reconcileQuota(quota, {
      usage: (source, scopes) => census.usage(source, { place, scopes, signal: drop }),
      pending: (what) => settling.pending(key, what),
      writeStatus: (counted) => clientOf(context.client, key).resource(quotas).updateStatus(counted, { signal: drop }),
    });
  } catch (error) {
    // Charged meanwhile: the copy will have it in a moment.
    return isConflict(error) ? requeueAfter(gather) : whenOutdated(error);
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
    if (limitsTheSame(change.old, change.object)) queue.addAfter(key, settles);
    else queue.add(key);
  });
}

/** Those of a namespace and those of its whole workspace. */
function quotasOver(known: Informer, place: Place): KubeObject[] {
  const ofWorkspace = known.byIndex(byPlace, placeKey(wholeOf(place)));
  return place.namespace === '' ? ofWorkspace : [...ofWorkspace, ...known.byIndex(byPlace, placeKey(place))];
}

function noteNew(settling: Settling, quota: KubeObject, { object, measure }: Extract<UsageChange, { type: 'new' }>): void {
  if (!quotaScopes(quota).every((scope) => measure.isInScope(scope, object))) return;
  const hard = hardOf(quota);
  const usage = onlyAmounts(measure.usage(object, new Date()), (what) => Object.hasOwn(hard, what));
  settling.created(keyOf(quota), usage);
}

function limitsTheSame(one: KubeObject, other: KubeObject): boolean {
  return JSON.stringify(one['spec']) === JSON.stringify(other['spec']) && isWorkspaceQuota(one) === isWorkspaceQuota(other);
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

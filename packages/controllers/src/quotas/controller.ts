import { type Client, formatKey, type Informer, type InformerFactory, objectKey, parseKey } from '@capstan/client';
import { type ControllerContext, done, type Result, type Runnable, WorkLoop, type WorkQueue } from '@capstan/controller';
import { isWorkspaceQuota, type KubeObject, onlyAmounts, printSource, quotaScopes, quotaSource, sameJson } from '@capstan/machinery';
import { Census } from './census.ts';
import { type Place, placeKey, placeOf, reachOf, wholeOf } from './place.ts';
import { reconcileQuota } from './reconcile.ts';
import { Settling } from './settling.ts';
import type { UsageChange } from './usage-change.ts';

const quotas = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };
const name = 'resourcequota';
const byPlace = 'place';
const byCluster = 'cluster';
/** In milliseconds: how long after its definition a kind is served. */
const typeSettles = 500;
/** In milliseconds: deletions come in bursts, and one count covers them all. */
const gather = 50;

export interface QuotaControllerOptions {
  /** How many quotas at the same time. */
  readonly concurrency?: number | undefined;
  /** In milliseconds: how often every quota is counted again. */
  readonly resyncEvery?: number | undefined;
  /** In milliseconds: an object that was charged for longer ago is visible by now, if it was stored. */
  readonly settles?: number | undefined;
}

/** Fills the status of every ResourceQuota, with one census for all namespaces of all workspaces. */
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
    using loop = new WorkLoop<string>(context, {
      name,
      keyOf: (key) => key,
      objectOf: parseKey,
      type: quotas,
      concurrency,
      backoff: { base: 50, max: 60_000 },
      rate: { perSecond: 100, burst: 500 },
    });
    const { queue } = loop;
    const settling = new Settling(settles, () => performance.now());
    await using census = new Census({
      client: context.client,
      now: () => new Date(),
      onChange: (source, place, change) => {
        for (const quota of quotasOver(known, place)) {
          if (!limits(quota, source)) continue;
          if (change.type === 'new') noteNew(settling, quota, change);
          // A new object was charged before it was stored; this checks that it was.
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
    metrics.gauge('resourcequota_followed_types', 'Kinds of which copies are kept.', { read: () => census.size });
    await informers.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(followQuotas({ known, queue, settling, settles }));
    const timer = setInterval(() => {
      for (const quota of known.list()) queue.add(keyOf(quota), 'resync');
    }, resyncEvery);
    cleanup.defer(() => clearInterval(timer));
    await loop.run((key) => reconcileOne(key, { context, known, census, settling }));
  }
}

interface Parts {
  readonly context: ControllerContext;
  readonly known: Informer;
  readonly census: Census;
  readonly settling: Settling;
}

async function reconcileOne(key: string, { known, census, settling, context }: Parts): Promise<Result> {
  const quota = known.get(parseKey(key));
  if (quota === undefined) return done;
  const { drop } = context;
  const place = reachOf(quota);
  return reconcileQuota(quota, {
    usage: (source, scopes) => census.usage(source, { place, scopes, signal: drop }),
    pending: (what) => settling.pending(key, what),
    writeStatus: (counted) => clientOf(context.client, key).resource(quotas).updateStatus(counted, { signal: drop }),
  });
}

interface Following {
  readonly known: Informer;
  readonly queue: WorkQueue<string>;
  readonly settling: Settling;
  readonly settles: number;
}

function followQuotas({ known, queue, settling, settles }: Following): Disposable {
  return known.onChange((change) => {
    const key = keyOf(change.object);
    if (change.type === 'deleted') return settling.forget(key);
    if (change.type === 'added') {
      if (change.initial) settling.inherit(key);
      return queue.add(key, change.initial ? 'resync' : 'fresh');
    }
    settling.charged(key, change.old, change.object);
    // A charge is checked once it has settled: not every object that was charged for is stored in the end.
    if (limitsTheSame(change.old, change.object)) queue.addAfter(key, settles);
    else queue.add(key);
  });
}

/** The quotas of a namespace and those of its whole workspace. */
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
  return sameJson(one['spec'], other['spec']) && isWorkspaceQuota(one) === isWorkspaceQuota(other);
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

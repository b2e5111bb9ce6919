import { rootCluster } from '@capstan/api';
import { type Change, type Client, ConnectionError, discover, Informer, type ResourceType } from '@capstan/client';
import {
  type Amounts,
  addAmounts,
  type KubeObject,
  type Measure,
  measureOf,
  type Quantity,
  quotaSource,
  type Scope,
  sameAmounts,
  wholeAmount,
} from '@capstan/machinery';
import { WorkspaceTypeCache } from '../journal/workspace-type-cache.ts';
import { Counts, type CountsOptions } from './counts.ts';
import { type Place, placeKey, placeOf, wholeOf } from './place.ts';
import { countableSource, findSource } from './served-sources.ts';
import { slimMeasured } from './slim.ts';

export interface CensusOptions extends Omit<CountsOptions, 'types'> {
  readonly client: Client;
  readonly now: () => Date;
}

export type Usage =
  | { readonly type: 'known'; readonly amounts: Amounts }
  /** The kind is not served. */
  | { readonly type: 'unknown' }
  /** Not all objects are known yet. */
  | { readonly type: 'later' };

type Objects = { readonly type: 'known'; readonly all: readonly KubeObject[] } | Exclude<Usage, { type: 'known' }>;

interface Followed {
  readonly measure: Measure;
  readonly informer: Informer;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

const byPlace = 'place';
/** In milliseconds: how long a kind that cannot be listed delays the others. */
const fillTimeout = 2_000;

/**
 * The usage of every namespace in every workspace. Kinds are followed from when a quota first limits them. For kinds whose content matters, the census keeps
 * copies where they are built in, which is in the root workspace; for all others it follows the journal.
 */
export class Census implements AsyncDisposable {
  readonly #options: CensusOptions;
  readonly #types: WorkspaceTypeCache;
  readonly #counts: Counts;
  readonly #followed = new Map<string, Followed>();

  constructor(options: CensusOptions) {
    this.#options = options;
    this.#types = new WorkspaceTypeCache({
      discover: (cluster, signal) => discover(options.client.cluster(cluster), signal),
      lifetime: 60_000,
      keyOf: countableSource,
    });
    this.#counts = new Counts({ ...options, types: this.#types });
  }

  get size(): number {
    return this.#followed.size;
  }

  /** The usage of the objects in a namespace, within the scopes. */
  async usage(source: string, { place, scopes, signal }: { place: Place; scopes: readonly Scope[]; signal: AbortSignal }): Promise<Usage> {
    const measure = measureOf(quotaSource(`count/${source}`)!);
    const amounts = new Map<string, Quantity>();
    if (!measure.looksInside) {
      // Objects that are only counted are in no scope.
      if (scopes.length > 0) return { type: 'known', amounts };
      const count = await this.#counts.of(source, place, signal);
      if (count === undefined) return { type: 'unknown' };
      for (const name of measure.usage(nothing, epoch).keys()) amounts.set(name, wholeAmount(count));
      return { type: 'known', amounts };
    }
    const objects = await this.#objects(source, place, signal);
    if (objects.type !== 'known') return objects;
    const now = this.#options.now();
    for (const object of objects.all) {
      if (scopes.every((scope) => measure.isInScope(scope, object))) addAmounts(amounts, measure.usage(object, now));
    }
    return { type: 'known', amounts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#followed.values()];
    for (const { stop } of all) stop.abort();
    await Promise.all([...all.map(({ running }) => running), this.#counts[Symbol.asyncDispose]()]);
  }

  async #objects(source: string, place: Place, signal: AbortSignal): Promise<Objects> {
    if (place.cluster !== rootCluster) {
      const all = await this.#counts.all(source, place, signal);
      return all === undefined ? { type: 'unknown' } : { type: 'known', all };
    }
    const informer = await this.#copy(source, signal);
    if (informer === undefined) return { type: 'unknown' };
    return (await filled(informer, signal)) ? { type: 'known', all: informer.byIndex(byPlace, placeKey(place)) } : { type: 'later' };
  }

  async #copy(source: string, signal: AbortSignal): Promise<Informer | undefined> {
    const known = this.#followed.get(source);
    if (known !== undefined) return known.informer;
    const type = await findSource(this.#types, { cluster: rootCluster, source, signal });
    if (type === undefined) return undefined;
    let followed = this.#followed.get(source);
    if (followed === undefined) this.#followed.set(source, (followed = this.#begin(source, type)));
    return followed.informer;
  }

  #begin(source: string, type: ResourceType): Followed {
    const { client, onError } = this.#options;
    const measure = measureOf(type);
    const stop = new AbortController();
    const informer = new Informer({
      resource: client.resource(type),
      transform: slimMeasured,
      onError: (error) => {
        // The manager reports an outage once; here it would be reported for each kind.
        if (!stop.signal.aborted && !(error instanceof ConnectionError)) onError(error, source);
      },
    });
    informer.addIndex(byPlace, (object) => {
      const place = placeOf(object);
      return [placeKey(place), placeKey(wholeOf(place))];
    });
    informer.onChange((change) => this.#note(source, measure, change));
    return { measure, informer, stop, running: informer.start(stop.signal) };
  }

  #note(source: string, measure: Measure, change: Change<KubeObject>): void {
    const { onChange } = this.#options;
    const { object } = change;
    if (change.type === 'added') {
      if (!change.initial) onChange(source, placeOf(object), { type: 'new', object, measure });
    } else if (change.type === 'deleted' || this.#differs(measure, change.old, object))
      onChange(source, placeOf(object), { type: 'other' });
  }

  /** Most updates of pods do not change their usage. */
  #differs(measure: Measure, old: KubeObject, object: KubeObject): boolean {
    const now = this.#options.now();
    if (!sameAmounts(measure.usage(old, now), measure.usage(object, now))) return true;
    return measure.scopeKey?.(old) !== measure.scopeKey?.(object);
  }
}

async function filled(informer: Informer, signal: AbortSignal): Promise<boolean> {
  if (!informer.hasSynced) await informer.synced(AbortSignal.any([signal, AbortSignal.timeout(fillTimeout)])).catch(() => {});
  return informer.hasSynced;
}

const epoch = new Date(0);
const nothing: KubeObject = { apiVersion: '', kind: '', metadata: {} };

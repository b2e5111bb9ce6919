import { type Change, type Client, ConnectionError, type DiscoveredResource, discover, Informer } from '@capstan/client';
import {
  type Amounts,
  addAmounts,
  type KubeObject,
  type Measure,
  measureOf,
  printSource,
  type Quantity,
  type Scope,
  sameAmounts,
  wholeAmount,
} from '@capstan/machinery';
import { placeOf } from './place.ts';
import { slim, slimMeasured } from './slim.ts';

export type UsageChange =
  /** A new object, which was charged for before it was stored. */
  | { readonly type: 'new'; readonly object: KubeObject; readonly measure: Measure }
  /** Something went, or an object changed what it uses. */
  | { readonly type: 'other' };

export interface CensusOptions {
  readonly client: Client;
  /** What a source uses in a namespace has changed, or may have. */
  readonly onChange: (source: string, place: string, change: UsageChange) => void;
  readonly onError: (error: unknown, source: string) => void;
  readonly now: () => Date;
}

interface Followed {
  readonly type: DiscoveredResource;
  readonly measure: Measure;
  readonly informer: Informer;
  /** How many there are in each namespace, where that is all that matters. */
  readonly counts: Map<string, number>;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

const byPlace = 'place';
const needed = ['create', 'delete', 'list', 'watch'];

/** Who uses what in which namespace. Only what some quota limits is followed, from then on when one first does; most types never are. */
export class Census implements AsyncDisposable {
  readonly #options: CensusOptions;
  readonly #followed = new Map<string, Followed>();
  #types: ReadonlyMap<string, DiscoveredResource> = new Map();

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  /** Asks what types there are. Those that are gone are followed no more. */
  async refresh(signal: AbortSignal): Promise<void> {
    const types = new Map<string, DiscoveredResource>();
    for (const type of await discover(this.#options.client, signal)) {
      const source = printSource(type);
      if (type.namespaced && !types.has(source) && needed.every((verb) => type.verbs.includes(verb))) types.set(source, type);
    }
    this.#types = types;
    for (const [source, followed] of this.#followed) {
      if (types.get(source)?.version === followed.type.version) continue;
      this.#followed.delete(source);
      followed.stop.abort();
    }
  }

  /** Whether objects of this name can be counted. They are followed from now on. */
  follow(source: string): boolean {
    if (this.#followed.has(source)) return true;
    const type = this.#types.get(source);
    if (type === undefined) return false;
    this.#followed.set(source, this.#begin(source, type));
    return true;
  }

  /** Resolves when all that is there is known, or after so many milliseconds. */
  async filled(sources: Iterable<string>, { signal, within }: { signal: AbortSignal; within: number }): Promise<void> {
    const missing = [...sources].flatMap((source) => this.#followed.get(source)?.informer ?? []).filter(({ hasSynced }) => !hasSynced);
    if (missing.length === 0) return;
    const either = AbortSignal.any([signal, AbortSignal.timeout(within)]);
    await Promise.allSettled(missing.map((informer) => informer.synced(either)));
  }

  /** What the objects of a namespace use; undefined while they are not all known. */
  usage(source: string, place: string, scopes: readonly Scope[]): Amounts | undefined {
    const followed = this.#followed.get(source);
    if (followed?.informer.hasSynced !== true) return undefined;
    const { measure, informer, counts } = followed;
    const total = new Map<string, Quantity>();
    if (measure.looksInside) {
      const now = this.#options.now();
      for (const object of informer.byIndex(byPlace, place)) {
        if (scopes.every((scope) => measure.isInScope(scope, object))) addAmounts(total, measure.usage(object, now));
      }
    } else if (scopes.length === 0) {
      const count = wholeAmount(counts.get(place) ?? 0);
      for (const name of measure.usage(nothing, epoch).keys()) total.set(name, count);
    }
    return total;
  }

  get size(): number {
    return this.#followed.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#followed.values()];
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ running }) => running));
  }

  #begin(source: string, type: DiscoveredResource): Followed {
    const { client, onError } = this.#options;
    const measure = measureOf(type);
    const stop = new AbortController();
    const resource = client.resource(type);
    const informer = new Informer({
      resource: measure.looksInside ? resource : resource.metadata(),
      transform: measure.looksInside ? slimMeasured : slim,
      onError: (error) => {
        // An outage is told by those who watch a few types; here it would be told once for each.
        if (!stop.signal.aborted && !(error instanceof ConnectionError)) onError(error, source);
      },
    });
    const counts = new Map<string, number>();
    if (measure.looksInside) informer.addIndex(byPlace, (object) => [placeOf(object)]);
    informer.onChange((change) => this.#note({ source, measure, counts }, change));
    return { type, measure, informer, counts, stop, running: informer.start(stop.signal) };
  }

  #note({ source, measure, counts }: { source: string } & Pick<Followed, 'measure' | 'counts'>, change: Change<KubeObject>): void {
    const place = placeOf(change.object);
    if (change.type === 'updated') {
      if (measure.looksInside && this.#differs(measure, change.old, change.object))
        this.#options.onChange(source, place, { type: 'other' });
      return;
    }
    if (!measure.looksInside) {
      const count = (counts.get(place) ?? 0) + (change.type === 'added' ? 1 : -1);
      if (count === 0) counts.delete(place);
      else counts.set(place, count);
    }
    if (change.type === 'deleted') this.#options.onChange(source, place, { type: 'other' });
    else if (!change.initial) this.#options.onChange(source, place, { type: 'new', object: change.object, measure });
  }

  /** Most updates of pods change nothing that counts. */
  #differs(measure: Measure, old: KubeObject, object: KubeObject): boolean {
    const now = this.#options.now();
    if (!sameAmounts(measure.usage(old, now), measure.usage(object, now))) return true;
    return movingScopes.some((scope) => measure.isInScope(scope, old) !== measure.isInScope(scope, object));
  }
}

const epoch = new Date(0);
const nothing: KubeObject = { apiVersion: '', kind: '', metadata: {} };
/** The scopes that an object can move into while it is there. */
const movingScopes: readonly Scope[] = ['Terminating', 'VolumeAttributesClass'].map((scopeName) => ({ scopeName, operator: 'Exists' }));

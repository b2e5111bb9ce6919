import {
  type Change,
  type Client,
  formatKey,
  type Informer,
  type InformerFactory,
  type InformerSelection,
  keyText,
  type ObjectKey,
  objectKey,
  type ResourceType,
} from '@capstan/client';
import type { BackoffLimits, KubeObject } from '@capstan/machinery';
import type { EventRecorder } from '../events/recorder.ts';
import type { ControllerContext, Runnable } from '../manager/runnable.ts';
import type { RateOptions } from '../queue/rate.ts';
import type { Priority, WorkQueue } from '../queue/work-queue.ts';
import { arrivesWithin, OtherWrites } from './other-writes.ts';
import { OwnWrites } from './own-writes.ts';
import { Places } from './places.ts';
import type { Predicate } from './predicate.ts';
import { done, type Result, requeueAfter } from './result.ts';
import { WorkLoop } from './work-loop.ts';

/** The arguments of a reconciler. */
export interface Reconcile<T extends KubeObject, C = undefined> {
  readonly key: ObjectKey;
  /** From the shared local copy, so it must not be modified; undefined if the object is gone. */
  readonly object: T | undefined;
  /** The value that `reads` returned: local copies of other kinds. */
  readonly copies: C;
  /** For the object's workspace. It refuses to write once this process no longer leads. */
  readonly client: Client;
  readonly events: EventRecorder;
  /** Aborted when the work must be dropped. */
  readonly signal: AbortSignal;
  /** 0, then one more for each failure in a row. */
  readonly attempt: number;
  /**
   * Reports the server's answer to a write of this object, or of an object of another `type` that the controller watches or reads. This object is not
   * reconciled again before the local copy has that write, so the reconciler never decides from the state before it.
   */
  readonly wrote: (object: KubeObject, type?: Pick<ResourceType, 'group' | 'resource'>) => void;
}

export type Reconciler<T extends KubeObject, C = undefined> = (request: Reconcile<T, C>) => Promise<Result> | Result;

/** A watched type, and which objects to reconcile when one of its objects changes. */
export interface Source<C> {
  readonly type: ResourceType;
  readonly selection: InformerSelection;
  /** Where the objects are, if not at the controller's own client. */
  readonly client: Client | undefined;
  readonly predicate: Predicate | undefined;
  readonly keysOf: (object: KubeObject, copies: C) => readonly ObjectKey[];
}

/** Listens to events from outside of the API until it is disposed of. */
export type Signals<C> = (copies: C, add: (key: ObjectKey) => void) => Disposable;

export interface ControllerOptions {
  /** How many objects at the same time; 1 by default. */
  readonly concurrency?: number | undefined;
  /** In milliseconds: how often every object is reconciled even if nothing changed. Ten hours by default; 0 for never. */
  readonly resyncEvery?: number;
  /** In milliseconds: a reconcile that takes longer is aborted. */
  readonly timeout?: number;
  readonly backoff?: BackoffLimits;
  readonly rate?: RateOptions;
  /** Keys with the same value share a turn; the workspace by default. */
  readonly fairness?: (key: ObjectKey) => string;
}

export interface ControllerSpec<T extends KubeObject, C> {
  readonly name: string;
  readonly primary: Source<C>;
  readonly sources: readonly Source<C>[];
  readonly signals: readonly Signals<C>[];
  readonly reads: (informers: InformerFactory, at: (client: Client) => InformerFactory) => C;
  readonly reconciler: Reconciler<T, C>;
  readonly options: ControllerOptions;
}

/** The state of one run. */
interface Run<T extends KubeObject, C> {
  readonly context: ControllerContext;
  /** The copies of the objects that are reconciled. */
  readonly known: Informer<T>;
  readonly queue: WorkQueue<ObjectKey>;
  readonly copies: C;
  readonly writes: OwnWrites;
  readonly others: OtherWrites;
  readonly places: Places;
}

const tenHours = 36_000_000;

/** Calls a reconciler for each object that needs it. */
export class Controller<T extends KubeObject = KubeObject, C = undefined> implements Runnable {
  readonly name: string;
  readonly #spec: ControllerSpec<T, C>;
  /** The value that `reads` returned when the controller was prepared: it may hold state that belongs to the informers. */
  readonly #prepared = new WeakMap<InformerFactory, { readonly value: C; readonly used: ReadonlySet<InformerFactory> }>();

  constructor(spec: ControllerSpec<T, C>) {
    this.name = spec.name;
    this.#spec = spec;
  }

  /** Asks for all informers, so that they can fill before the work begins. */
  prepare(informers: InformerFactory, at: (client: Client) => InformerFactory): void {
    for (const { type, selection, client } of this.#all()) (client === undefined ? informers : at(client)).informer(type, selection);
    const used = new Set<InformerFactory>();
    const value = this.#spec.reads(informers, (client) => {
      const there = at(client);
      used.add(there);
      return there;
    });
    this.#prepared.set(informers, { value, used });
  }

  /** Works until the signal; resolves when the last reconcile has ended. */
  async run(context: ControllerContext): Promise<void> {
    const { primary, options, reads } = this.#spec;
    const { concurrency, backoff, rate, fairness = ({ cluster }) => cluster ?? '' } = options;
    await using places = new Places(context);
    for (const source of this.#all()) places.informersOf(source.client).informer(source.type, source.selection);
    const prepared = this.#prepared.get(context.informers);
    const copies = prepared === undefined ? reads(context.informers, (client) => places.informersOf(client)) : prepared.value;
    using loop = new WorkLoop<ObjectKey>(context, {
      name: this.name,
      keyOf: formatKey,
      objectOf: (key) => key,
      type: primary.type,
      fairness,
      concurrency,
      ...(backoff && { backoff }),
      ...(rate && { rate }),
    });
    const { queue } = loop;
    using others = new OtherWrites((key) => queue.add(key));
    const known = context.informers.informer<T>(primary.type, primary.selection);
    const run: Run<T, C> = { context, known, queue, copies, writes: new OwnWrites(), others, places };
    await Promise.all([places, ...(prepared?.used ?? [])].map((one) => one.synced(context.signal)));
    const following = this.#follow(run);
    try {
      await loop.run((key, attempt) => this.#reconcile(key, attempt, run));
    } finally {
      for (const one of following) one[Symbol.dispose]();
    }
  }

  /** Everything that asks for reconciles. Node 20 has no DisposableStack. */
  #follow(run: Run<T, C>): Disposable[] {
    const { signals, options } = this.#spec;
    const { resyncEvery = tenHours } = options;
    const timer = resyncEvery > 0 ? setInterval(() => this.#resync(run), resyncEvery) : undefined;
    return [
      this.#followOwnWrites(run),
      ...this.#all().map((source) => follow(source, run)),
      ...signals.map((listen) => listen(run.copies, (key) => run.queue.add(key))),
      { [Symbol.dispose]: () => clearInterval(timer) },
    ];
  }

  #all(): readonly Source<C>[] {
    return [this.#spec.primary, ...this.#spec.sources];
  }

  #resync({ known, queue }: Run<T, C>): void {
    for (const object of known.list()) queue.add(objectKey(object), 'resync');
  }

  /** Reconciles objects that became due while their copy lacked our own write. No predicate applies: it would drop what was due. */
  #followOwnWrites({ known, queue, writes }: Run<T, C>): Disposable {
    return known.onChange(({ type: change, object }) => {
      if (writes.arrives(keyText(object), change === 'deleted' ? undefined : object)) queue.add(objectKey(object));
    });
  }

  #reconcile(key: ObjectKey, attempt: number, run: Run<T, C>): Promise<Result> | Result {
    const { context, known, copies, writes, others } = run;
    const { primary, reconciler, options } = this.#spec;
    const object = known.get(key);
    const text = formatKey(key);
    if (writes.isBehind(text, object)) return done;
    // The arrival calls earlier; this is for an object that the copy does not select.
    if (others.isBehind(key)) return requeueAfter(arrivesWithin);
    return reconciler({
      key,
      object,
      copies,
      client: key.cluster === undefined ? context.client : context.client.cluster(key.cluster),
      events: context.events,
      signal: options.timeout === undefined ? context.drop : AbortSignal.any([context.drop, AbortSignal.timeout(options.timeout)]),
      attempt,
      wrote: (written, type = primary.type) => {
        if (isSameType(type, primary.type)) writes.note(text, written, known.get(key));
        else others.note(key, written, run.places.copyOf(type));
      },
    });
  }
}

function isSameType(one: Pick<ResourceType, 'group' | 'resource'>, other: Pick<ResourceType, 'group' | 'resource'>): boolean {
  return one.group === other.group && one.resource === other.resource;
}

function follow<T extends KubeObject, C>(source: Source<C>, { queue, copies, places }: Run<T, C>): Disposable {
  return places
    .informersOf(source.client)
    .informer(source.type, source.selection)
    .onChange((change) => {
      if (source.predicate !== undefined && !source.predicate(change)) return;
      // Objects that existed before the start are only checked; everything later is a change.
      const priority: Priority = change.type === 'added' && change.initial ? 'resync' : 'fresh';
      for (const key of keysOf(source, change, copies)) queue.add(key, priority);
    });
}

/** Includes the keys that the object pointed to before: they lost something. The queue removes duplicates. */
function keysOf<C>({ keysOf: map }: Source<C>, change: Change<KubeObject>, copies: C): readonly ObjectKey[] {
  return change.type === 'updated' ? [...map(change.object, copies), ...map(change.old, copies)] : map(change.object, copies);
}

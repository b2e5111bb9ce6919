import {
  type Change,
  type Client,
  formatKey,
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
import { OwnWrites } from './own-writes.ts';
import type { Predicate } from './predicate.ts';
import { done, type Result } from './result.ts';
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
   * Reports the server's answer to a write of this object. It is not reconciled again before the local copy has that write, so the reconciler never decides
   * from the state before it.
   */
  readonly wrote: (object: KubeObject) => void;
}

export type Reconciler<T extends KubeObject, C = undefined> = (request: Reconcile<T, C>) => Promise<Result> | Result;

/** A watched type, and which objects to reconcile when one of its objects changes. */
export interface Source<C> {
  readonly type: ResourceType;
  readonly selection: InformerSelection;
  readonly predicate: Predicate | undefined;
  readonly keysOf: (object: KubeObject, copies: C) => readonly ObjectKey[];
}

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
  readonly reads: (informers: InformerFactory) => C;
  readonly reconciler: Reconciler<T, C>;
  readonly options: ControllerOptions;
}

/** The state of one run. */
interface Run<C> {
  readonly context: ControllerContext;
  readonly queue: WorkQueue<ObjectKey>;
  readonly copies: C;
  readonly writes: OwnWrites;
}

const tenHours = 36_000_000;

/** Calls a reconciler for each object that needs it. */
export class Controller<T extends KubeObject = KubeObject, C = undefined> implements Runnable {
  readonly name: string;
  readonly #spec: ControllerSpec<T, C>;
  #copies: { readonly of: InformerFactory; readonly value: C } | undefined;

  constructor(spec: ControllerSpec<T, C>) {
    this.name = spec.name;
    this.#spec = spec;
  }

  /** Asks for all informers, so that they can fill before the work begins. */
  prepare(informers: InformerFactory): void {
    for (const { type, selection } of this.#all()) informers.informer(type, selection);
    this.#read(informers);
  }

  /** Works until the signal; resolves when the last reconcile has ended. */
  async run(context: ControllerContext): Promise<void> {
    const { primary, options } = this.#spec;
    const { concurrency, backoff, rate, resyncEvery = tenHours, fairness = ({ cluster }) => cluster ?? '' } = options;
    const copies = this.#read(context.informers);
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
    const run: Run<C> = { context, queue: loop.queue, copies, writes: new OwnWrites() };
    await context.informers.synced(context.signal);
    // Node 20 has no DisposableStack.
    const following = [this.#followOwnWrites(run), ...this.#all().map((source) => follow(source, run))];
    const timer = resyncEvery > 0 ? setInterval(() => this.#resync(run), resyncEvery) : undefined;
    try {
      await loop.run((key, attempt) => this.#reconcile(key, attempt, run));
    } finally {
      clearInterval(timer);
      for (const one of following) one[Symbol.dispose]();
    }
  }

  #all(): readonly Source<C>[] {
    return [this.#spec.primary, ...this.#spec.sources];
  }

  #read(informers: InformerFactory): C {
    if (this.#copies?.of !== informers) this.#copies = { of: informers, value: this.#spec.reads(informers) };
    return this.#copies.value;
  }

  #resync({ context, queue }: Run<C>): void {
    const { type, selection } = this.#spec.primary;
    for (const object of context.informers.informer(type, selection).list()) queue.add(objectKey(object), 'resync');
  }

  /** Reconciles objects that became due while their copy lacked our own write. No predicate applies: it would drop what was due. */
  #followOwnWrites({ context, queue, writes }: Run<C>): Disposable {
    const { type, selection } = this.#spec.primary;
    return context.informers.informer(type, selection).onChange(({ type: change, object }) => {
      if (writes.arrives(keyText(object), change === 'deleted' ? undefined : object)) queue.add(objectKey(object));
    });
  }

  #reconcile(key: ObjectKey, attempt: number, { context, copies, writes }: Run<C>): Promise<Result> | Result {
    const { primary, reconciler, options } = this.#spec;
    const known = context.informers.informer<T>(primary.type, primary.selection);
    const object = known.get(key);
    const text = formatKey(key);
    if (writes.isBehind(text, object)) return done;
    return reconciler({
      key,
      object,
      copies,
      client: key.cluster === undefined ? context.client : context.client.cluster(key.cluster),
      events: context.events,
      signal: options.timeout === undefined ? context.drop : AbortSignal.any([context.drop, AbortSignal.timeout(options.timeout)]),
      attempt,
      wrote: (written) => writes.note(text, written, known.get(key)),
    });
  }
}

function follow<C>(source: Source<C>, { context, queue, copies }: Run<C>): Disposable {
  return context.informers.informer(source.type, source.selection).onChange((change) => {
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

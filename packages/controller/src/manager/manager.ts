import {
  type Client,
  deferred,
  dropManagedFields,
  type FactoryOptions,
  formatKey,
  type InformerFactory,
  noTracer,
  type ObjectKey,
  SharedTexts,
  type Tracer,
} from '@capstan/client';
import { Metrics } from '@capstan/machinery';
import { EventRecorder } from '../events/recorder.ts';
import { type ElectionOptions, LeaderElector } from '../leader/elector.ts';
import { addProcessMetrics } from '../metrics/process.ts';
import { type HealthOptions, type HealthServer, startHealthServer } from './health.ts';
import { type HeldInformers, InformerPool } from './informer-pool.ts';
import { keepRunning } from './keep-running.ts';
import type { ControllerContext, Elsewhere, Runnable } from './runnable.ts';
import { LeaseTroubles, Troubles } from './troubles.ts';

export interface ManagerOptions {
  readonly client: Client;
  /** Without it, this process always works. */
  readonly leaderElection?: Omit<ElectionOptions, 'client' | 'onError' | 'onLeader' | 'onReached' | 'onWaiting'>;
  readonly health?: HealthOptions;
  /** In milliseconds: how long running reconciles may take to end when the manager is stopped. */
  readonly stopWithin?: number;
  /** In milliseconds: how long to wait for complete local copies before taking part in an election; ten seconds by default. */
  readonly syncWithin?: number;
  readonly log?: (line: string) => void;
  /** The registry to use; a new one by default. */
  readonly metrics?: Metrics;
  /** Traces each reconcile. */
  readonly tracer?: Tracer;
}

export interface AddOptions {
  /** A client with another identity than the manager's: each controller can have an account with just the rights that it needs. */
  readonly client?: Client;
}

interface Added {
  readonly runnable: Runnable;
  readonly client: Client;
  /** Of its client, and of the others that it asked for when it was prepared. */
  readonly held: readonly HeldInformers[];
}

/** The state that the controllers of one term share. */
interface Work {
  /** Ends the work; running reconciles may finish. */
  readonly signal: AbortSignal;
  /** Ends the work at once. */
  readonly lost: AbortSignal;
  readonly isLeading: () => boolean;
  /** Returns a client that refuses to write once this process no longer leads. */
  readonly guard: (client: Client) => Client;
}

/** A term's work, with the signal that drops running reconciles. */
type RunningWork = Work & { readonly drop: AbortSignal };

const never = new AbortController().signal;
/** In milliseconds. */
const settleEvery = 30_000;

/** Runs controllers in one process, with shared informers, one server for health and metrics, and leader election. */
export class Manager {
  readonly metrics: Metrics;
  readonly #options: ManagerOptions;
  readonly #added: Added[] = [];
  readonly #log: (line: string) => void;
  readonly #troubles: Troubles;
  readonly #pool = new InformerPool((client) => this.#factoryOptions(client));
  readonly #texts = new SharedTexts();
  #factories = 0;
  #health: HealthServer | undefined;
  #stopping = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.metrics = options.metrics ?? new Metrics();
    this.#log = options.log ?? (() => {});
    this.#troubles = new Troubles(this.#log);
    addProcessMetrics(this.metrics);
  }

  /** The port of the health server once `run` was called. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  add(runnable: Runnable, { client = this.#options.client }: AddOptions = {}): this {
    if (this.#added.some((one) => one.runnable.name === runnable.name))
      throw new Error(`there is a controller "${runnable.name}" already; names must differ`);
    const own = this.#pool.hold(client);
    const others = new Map<Client, HeldInformers>();
    const at = (other: Client): InformerFactory => {
      const known = others.get(other) ?? this.#pool.hold(other);
      others.set(other, known);
      return known.informers;
    };
    runnable.prepare?.(own.informers, at);
    this.#added.push({ runnable, client, held: [own, ...others.values()] });
    return this;
  }

  #factoryOptions(client: Client): FactoryOptions {
    const owner = this.#factories++;
    return {
      client,
      transform: (object) => {
        this.#texts.within(dropManagedFields(object));
        return object;
      },
      onError: (error, { resource }, informer) => {
        if (!this.#stopping) this.#troubles.watchFailed(error, { resource, informer: `${owner} ${informer}` });
      },
      onRecovered: ({ resource }, informer) => this.#troubles.watchRecovered({ resource, informer: `${owner} ${informer}` }),
    };
  }

  /** Works until aborted; resolves when everything has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { health, leaderElection } = this.#options;
    this.#health = health && (await startHealthServer(health, { metrics: this.metrics, notReady: () => this.#notReady() }));
    signal.addEventListener('abort', () => (this.#stopping = true), { once: true });
    const settling = setInterval(() => this.#troubles.settle(), settleEvery).unref();
    try {
      this.#pool.start();
      if (leaderElection === undefined) await this.#work({ signal, lost: never, isLeading: () => true, guard: (client) => client });
      else await this.#contend(leaderElection, signal);
    } finally {
      clearInterval(settling);
      await Promise.all(this.#added.flatMap(({ held }) => held.map((one) => one[Symbol.asyncDispose]())));
      await this.#health?.[Symbol.asyncDispose]();
    }
  }

  async #contend(election: NonNullable<ManagerOptions['leaderElection']>, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const lease = `${election.namespace}/${election.name}`;
    const troubles = new LeaseTroubles(lease, { log: this.#log, troubles: this.#troubles });
    const elector = new LeaderElector({
      ...election,
      client,
      onError: (error) => troubles.failed(error),
      onReached: () => troubles.reached(),
      onWaiting: (holder) => troubles.waiting(holder),
      onLeader: (state) => {
        if (state === 'leading') troubles.leading();
        this.#log(`lease ${lease}: ${state}`);
      },
    });
    this.metrics.gauge('leader_election_master_status', 'Whether this process leads.', {
      labels: { name: election.name },
      read: () => (elector.isLeading() ? 1 : 0),
    });
    await this.#synced(signal);
    await elector.run(signal, (term) =>
      this.#work({
        signal: term.signal,
        lost: term.lost,
        isLeading: () => term.isLeading(),
        guard: (one) => one.guarded(() => term.assertLeading()),
      }),
    );
  }

  /** Complete copies make a handover short. Those that cannot be completed hold up only the controllers that need them. */
  async #synced(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, AbortSignal.timeout(this.#options.syncWithin ?? 10_000)]);
    await Promise.allSettled(this.#added.flatMap(({ held }) => held.map(({ informers }) => informers.synced(either))));
  }

  async #work(work: Work): Promise<void> {
    const { signal, lost } = work;
    const { stopWithin = 30_000 } = this.#options;
    const late = new AbortController();
    const abandoned = deferred<'late'>();
    let timer: NodeJS.Timeout | undefined;
    const onStop = (): void => {
      timer = setTimeout(() => {
        late.abort();
        // Gives reconciles that observe the signal one turn to end; the guard refuses the writes of others.
        setImmediate(() => abandoned.resolve('late'));
      }, stopWithin);
    };
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    const drop = AbortSignal.any([lost, late.signal]);
    const running = Promise.all(this.#added.map((one) => this.#runOne(one, { ...work, drop })));
    try {
      const outcome = await Promise.race([running, abandoned.promise]);
      if (outcome === 'late') this.#log(`some reconciles did not end within ${stopWithin} ms and were dropped`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onStop);
    }
  }

  /** A runnable that fails is started again, and never stops the others. */
  async #runOne({ runnable, client, held }: Added, work: RunningWork): Promise<void> {
    const { name } = runnable;
    await using context = this.#context(name, work, { client, informers: held[0]!.informers });
    await keepRunning(runnable, context, {
      onFailure: (error, wait) => this.#troubles.requestFailed(error, `${name} failed and starts again in ${Math.ceil(wait / 1000)} s`),
    });
  }

  #context(name: string, work: RunningWork, place: { readonly client: Client; readonly informers: InformerFactory }): Elsewhere {
    const { signal, drop, isLeading, guard } = work;
    const client = guard(place.client);
    const events = new EventRecorder({
      client,
      component: name,
      onError: (error) => this.#troubles.requestFailed(error, `${name}: event not written`),
    });
    const context: ControllerContext = {
      informers: place.informers,
      client,
      events,
      metrics: this.metrics,
      tracer: this.#options.tracer ?? noTracer,
      isLeading,
      signal,
      drop,
      onError: (error: unknown, key: ObjectKey) => this.#troubles.requestFailed(error, `${name} ${formatKey(key)}`),
      at: (other, itsName = name) => this.#elsewhere(itsName, work, other),
      log: (line) => this.#log(`${name}: ${line}`),
    };
    return { ...context, [Symbol.asyncDispose]: () => events.flush() };
  }

  #elsewhere(name: string, work: RunningWork, client: Client): Elsewhere {
    const held = this.#pool.hold(client);
    const there = this.#context(name, work, { client, informers: held.informers });
    return {
      ...there,
      [Symbol.asyncDispose]: async () => {
        await there[Symbol.asyncDispose]();
        await held[Symbol.asyncDispose]();
      },
    };
  }

  #notReady(): string | undefined {
    if (this.#stopping) return 'stopping';
    const waiting = this.#added.filter(({ held }) => held.some(({ informers }) => !informers.hasSynced));
    if (waiting.length === 0) return undefined;
    return `the first copy of what is watched is not complete yet: ${waiting.map(({ runnable }) => runnable.name).join(', ')}`;
  }
}

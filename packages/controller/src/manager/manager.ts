import { type Client, deferred, dropManagedFields, formatKey, InformerFactory, type ObjectKey, SharedTexts } from '@capstan/client';
import { Metrics } from '@capstan/machinery';
import { EventRecorder } from '../events/recorder.ts';
import { type ElectionOptions, LeaderElector } from '../leader/elector.ts';
import { addProcessMetrics } from '../metrics/process.ts';
import { type HealthOptions, type HealthServer, startHealthServer } from './health.ts';
import type { Runnable } from './runnable.ts';
import { LeaseTroubles, Troubles } from './troubles.ts';

export interface ManagerOptions {
  readonly client: Client;
  /** Without it, this process always works. */
  readonly leaderElection?: Omit<ElectionOptions, 'client' | 'onError' | 'onLeader' | 'onReached' | 'onWaiting'>;
  readonly health?: HealthOptions;
  /** In milliseconds: how long running reconciles may take to end when the manager is stopped. */
  readonly stopWithin?: number;
  readonly log?: (line: string) => void;
}

export interface AddOptions {
  /** A client with another identity than the manager's: each controller can have an account with just the rights that it needs. */
  readonly client?: Client;
}

interface Added {
  readonly runnable: Runnable;
  readonly client: Client;
  readonly informers: InformerFactory;
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

const never = new AbortController().signal;
/** In milliseconds. */
const settleEvery = 30_000;

/** Runs controllers in one process, with shared informers, one server for health and metrics, and leader election. */
export class Manager {
  readonly metrics = new Metrics();
  readonly #options: ManagerOptions;
  readonly #added: Added[] = [];
  readonly #log: (line: string) => void;
  readonly #troubles: Troubles;
  /** Shared by controllers with the same account: other accounts may not be allowed to read the same objects. */
  readonly #informers = new Map<Client, InformerFactory>();
  readonly #texts = new SharedTexts();
  #health: HealthServer | undefined;
  #stopping = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
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
    const informers = this.#informersOf(client);
    this.#added.push({ runnable, client, informers });
    runnable.prepare?.(informers);
    return this;
  }

  #informersOf(client: Client): InformerFactory {
    const known = this.#informers.get(client);
    if (known !== undefined) return known;
    const owner = this.#informers.size;
    const made = new InformerFactory({
      client,
      transform: (object) => {
        this.#texts.within(dropManagedFields(object));
        return object;
      },
      onError: (error, { resource }, informer) => {
        if (!this.#stopping) this.#troubles.watchFailed(error, { resource, informer: `${owner} ${informer}` });
      },
      onRecovered: ({ resource }, informer) => this.#troubles.watchRecovered({ resource, informer: `${owner} ${informer}` }),
    });
    this.#informers.set(client, made);
    return made;
  }

  /** Works until aborted; resolves when everything has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { health, leaderElection } = this.#options;
    this.#health = health && (await startHealthServer(health, { metrics: this.metrics, notReady: () => this.#notReady() }));
    signal.addEventListener('abort', () => (this.#stopping = true), { once: true });
    const settling = setInterval(() => this.#troubles.settle(), settleEvery).unref();
    try {
      for (const informers of this.#informers.values()) informers.start();
      if (leaderElection === undefined) await this.#work({ signal, lost: never, isLeading: () => true, guard: (client) => client });
      else await this.#contend(leaderElection, signal);
    } finally {
      clearInterval(settling);
      await Promise.all([...this.#informers.values()].map((informers) => informers[Symbol.asyncDispose]()));
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
    // Complete copies make a handover short.
    await Promise.all([...this.#informers.values()].map((informers) => informers.synced(signal))).catch(() => {});
    await elector.run(signal, (term) =>
      this.#work({
        signal: term.signal,
        lost: term.lost,
        isLeading: () => term.isLeading(),
        guard: (one) => one.guarded(() => term.assertLeading()),
      }),
    );
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
    const running = Promise.all(this.#added.map((one) => this.#runOne(one, work, drop)));
    try {
      const outcome = await Promise.race([running, abandoned.promise]);
      if (outcome === 'late') this.#log(`some reconciles did not end within ${stopWithin} ms and were dropped`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onStop);
    }
  }

  async #runOne({ runnable, client: own, informers }: Added, { signal, isLeading, guard }: Work, drop: AbortSignal): Promise<void> {
    const client = guard(own);
    const { name } = runnable;
    const events = new EventRecorder({
      client,
      component: name,
      onError: (error) => this.#troubles.requestFailed(error, `${name}: event not written`),
    });
    const onError = (error: unknown, key: ObjectKey): void => this.#troubles.requestFailed(error, `${name} ${formatKey(key)}`);
    try {
      await runnable.run({ informers, client, events, metrics: this.metrics, isLeading, signal, drop, onError });
      await events.flush();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #notReady(): string | undefined {
    if (this.#stopping) return 'stopping';
    return [...this.#informers.values()].every(({ hasSynced }) => hasSynced)
      ? undefined
      : 'the first copy of what is watched is not complete yet';
  }
}

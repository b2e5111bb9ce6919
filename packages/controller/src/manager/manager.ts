import { type Client, dropManagedFields, formatKey, InformerFactory, type ObjectKey } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import type { Controller } from '../controller/controller.ts';
import { EventRecorder } from '../events/recorder.ts';
import { type ElectionOptions, LeaderElector } from '../leader/elector.ts';
import { Metrics } from '../metrics/metrics.ts';
import { type HealthOptions, type HealthServer, startHealthServer } from './health.ts';

export interface ManagerOptions {
  readonly client: Client;
  /** Without it this process always works. */
  readonly leaderElection?: Omit<ElectionOptions, 'client' | 'onError' | 'onLeader'>;
  readonly health?: HealthOptions;
  /** In milliseconds: so long what is under way may take to end when the manager is stopped. */
  readonly stopWithin?: number;
  readonly log?: (line: string) => void;
}

/** What the controllers of one term share. */
interface Work {
  /** Ends the work: what is under way may finish. */
  readonly signal: AbortSignal;
  /** Ends it at once. */
  readonly lost: AbortSignal;
  readonly isLeading: () => boolean;
  readonly client: Client;
}

const never = new AbortController().signal;

/** Runs controllers in one process: one copy of each kind of object, one place for health and metrics, one leader among many processes. */
export class Manager {
  readonly informers: InformerFactory;
  readonly metrics = new Metrics();
  readonly #options: ManagerOptions;
  readonly #controllers: Controller<KubeObject>[] = [];
  readonly #log: (line: string) => void;
  #health: HealthServer | undefined;
  #stopping = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => {});
    this.informers = new InformerFactory({
      client: options.client,
      transform: dropManagedFields,
      onError: (error, { resource }) => this.#log(`${resource}: ${textOf(error)}; trying again`),
    });
  }

  /** Where health is served, once `run` was called. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  add<T extends KubeObject>(controller: Controller<T>): this {
    const added = controller as unknown as Controller<KubeObject>;
    if (this.#controllers.some(({ name }) => name === added.name))
      throw new Error(`there is a controller "${added.name}" already; names must differ`);
    this.#controllers.push(added);
    added.prepare(this.informers);
    return this;
  }

  /** Works until aborted; resolves when all has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, health, leaderElection } = this.#options;
    this.#health = health && (await startHealthServer(health, { metrics: this.metrics, notReady: () => this.#notReady() }));
    signal.addEventListener('abort', () => (this.#stopping = true), { once: true });
    try {
      this.informers.start();
      if (leaderElection === undefined) await this.#work({ signal, lost: never, isLeading: () => true, client });
      else await this.#contend(leaderElection, signal);
    } finally {
      await this.informers[Symbol.asyncDispose]();
      await this.#health?.[Symbol.asyncDispose]();
    }
  }

  async #contend(election: NonNullable<ManagerOptions['leaderElection']>, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const elector = new LeaderElector({
      ...election,
      client,
      onError: (error) => this.#log(`lease ${election.namespace}/${election.name}: ${textOf(error)}`),
      onLeader: (state) => this.#log(`lease ${election.namespace}/${election.name}: ${state}`),
    });
    this.metrics.gauge('leader_election_master_status', 'Whether this process leads.', {
      labels: { name: election.name },
      read: () => (elector.isLeading() ? 1 : 0),
    });
    // A copy that is full already makes a hand-over short.
    await this.informers.synced(signal).catch(() => {});
    await elector.run(signal, (term) =>
      this.#work({
        signal: term.signal,
        lost: term.lost,
        isLeading: () => term.isLeading(),
        client: client.guarded(() => term.assertLeading()),
      }),
    );
  }

  async #work({ signal, lost, isLeading, client }: Work): Promise<void> {
    const { stopWithin = 30_000 } = this.#options;
    const late = new AbortController();
    const abandoned = Promise.withResolvers<'late'>();
    let timer: NodeJS.Timeout | undefined;
    const onStop = (): void => {
      timer = setTimeout(() => {
        late.abort();
        // One turn for those who listen to the signal; writes of those who do not are refused by the guard.
        setImmediate(() => abandoned.resolve('late'));
      }, stopWithin);
    };
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    const drop = AbortSignal.any([lost, late.signal]);
    const running = Promise.all(this.#controllers.map((one) => this.#runOne(one, { signal, lost, isLeading, client }, drop)));
    try {
      const outcome = await Promise.race([running, abandoned.promise]);
      if (outcome === 'late') this.#log(`some reconciles did not end within ${stopWithin} ms and were dropped`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onStop);
    }
  }

  async #runOne(one: Controller<KubeObject>, { signal, isLeading, client }: Work, drop: AbortSignal): Promise<void> {
    const events = new EventRecorder({
      client,
      component: one.name,
      onError: (error) => this.#log(`${one.name}: event not written: ${textOf(error)}`),
    });
    const onError = (error: unknown, key: ObjectKey): void => this.#log(`${one.name} ${formatKey(key)}: ${textOf(error)}`);
    try {
      await one.run({ informers: this.informers, client, events, metrics: this.metrics, isLeading, signal, drop, onError });
      await events.flush();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #notReady(): string | undefined {
    if (this.#stopping) return 'stopping';
    return this.informers.hasSynced ? undefined : 'the first copy of what is watched is not complete yet';
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { type NodeVolume, nodeOfNamespace, type UsageFact } from '@capstan/api';
import type { Ledger } from '../usage/ledger-client.ts';
import { UsageRecorder } from '../usage/recorder.ts';
import { SteadyClock, systemTime, type TimeSources } from '../usage/steady-clock.ts';

/** In milliseconds. */
const longestReport = 30_000;

interface Started {
  readonly clock: Pick<SteadyClock, 'now'>;
  readonly recorder: UsageRecorder;
}

/**
 * Keeps the ledger in step with volumes: a fact for each size that a volume has had. The beginning is in the ledger before a unit can mount the volume, and the end
 * before its files are deleted. Every report can be made again: the fact of a size is written once, and ends once.
 */
export class StorageUsage {
  readonly #ledger: Ledger;
  readonly #time: TimeSources;
  #started: Promise<Started> | undefined;
  /** The sizes that the ledger has, by volume. */
  readonly #known = new Map<string, number>();

  constructor(ledger: Ledger, time: TimeSources = systemTime) {
    this.#ledger = ledger;
    this.#time = time;
  }

  /** Resolves when the ledger has the size of the volume. */
  async keep(volume: NodeVolume): Promise<void> {
    const { metadata, spec, status } = volume;
    const { name: uid = '', creationTimestamp } = metadata;
    if (spec.deleted || status?.phase === 'Deleted' || this.#known.get(uid) === spec.size) return;
    const { clock, recorder } = await this.#start();
    const { cluster } = spec.owner;
    const { begun } = await this.#ledger.state({ cluster, uid }, AbortSignal.timeout(longestReport));
    const now = new Date(clock.now()).toISOString();
    const fact = factOf(volume, begun ? now : (creationTimestamp ?? now));
    await recorder.report([fact], [{ cluster, uid, end: now, except: fact.attempt }]);
    this.#known.set(uid, spec.size);
  }

  /** Resolves when the ledger has the end. */
  async end({ metadata: { name: uid = '' }, spec }: NodeVolume): Promise<void> {
    const { clock, recorder } = await this.#start();
    await recorder.report([], [{ cluster: spec.owner.cluster, uid, end: new Date(clock.now()).toISOString() }]);
    this.#known.delete(uid);
  }

  #start(): Promise<Started> {
    this.#started ??= this.#open().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    return this.#started;
  }

  /** The clock of the machine may have been set since the last report. */
  async #open(): Promise<Started> {
    const signal = (): AbortSignal => AbortSignal.timeout(longestReport);
    const clock = new SteadyClock(this.#time, await this.#ledger.state(undefined, signal()));
    return { clock, recorder: new UsageRecorder({ ledger: this.#ledger, clock, signal }) };
  }
}

function factOf({ metadata, spec }: NodeVolume, begin: string): UsageFact {
  const { cluster, path, namespace, name } = spec.owner;
  return {
    cluster,
    uid: metadata.name ?? '',
    attempt: `size-${spec.size}`,
    part: 0,
    workspace: path ?? cluster,
    namespace,
    name,
    offering: '',
    model: '',
    gpus: 0,
    cpu: 0,
    memory: 0,
    storage: spec.size,
    node: nodeOfNamespace(metadata.namespace ?? '') ?? '',
    begin,
  };
}

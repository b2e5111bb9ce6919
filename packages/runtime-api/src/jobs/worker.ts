import { setTimeout as sleep } from 'node:timers/promises';
import {
  finalOperatorJobPhases,
  millisecondsIn,
  type NodeBooking,
  type NodeUnit,
  nodeBookingKind,
  nodeUnitKind,
  type Offering,
  type OperatorJob,
  type OperatorJobStatus,
  offeringKind,
  operatorJobKind,
} from '@capstan/api';
import { type Client, isConflict, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { formatTime, type JsonObject } from '@capstan/machinery';
import { progressWords, stockProgress } from './stock-progress.ts';

export interface JobOptions {
  /** In root:platform, with the account of the product `operator`. */
  readonly client: Client;
  /** Names this replica; no other one has the same name. */
  readonly identity: string;
  /** In milliseconds: time between two looks at the jobs. */
  readonly every?: number;
  /** In milliseconds: a replica that has not been heard of for so long has ended. */
  readonly leaseFor?: number;
  readonly now?: () => number;
  readonly log: (line: string) => void;
}

const mostWords = 4096;
/** Passes that may fail before it is worth a line: at the first start, the account and its token come some seconds later. */
const toleratedFailures = 30;

/**
 * Works on the jobs of operators. One replica holds a job by its name in the status, written by compare-and-swap, and others watch it by their own clocks. All steps can be
 * repeated, so a replica that was only slow does no harm.
 */
export class JobWorker implements AsyncDisposable {
  readonly #options: Required<JobOptions>;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  /** The last sign of life of the holder of each job, and when this replica saw it. */
  readonly #heard = new Map<string, { readonly sign: string; readonly at: number }>();

  constructor({ every = 1_000, leaseFor = 15_000, now = Date.now, ...options }: JobOptions) {
    this.#options = { every, leaseFor, now, ...options };
    this.#done = this.#run();
  }

  /** Leaves jobs to other replicas. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { every, log } = this.#options;
    const { signal } = this.#stop;
    let [lastProblem, failures] = ['', 0];
    while (!signal.aborted) {
      let problem = '';
      try {
        await this.#pass();
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      failures = problem === '' ? 0 : failures + 1;
      if (failures >= toleratedFailures && problem !== lastProblem && !signal.aborted) {
        log(`operator jobs wait: ${problem}`);
        lastProblem = problem;
      } else if (problem === '') lastProblem = '';
      await sleep(every, undefined, { signal }).catch(() => {});
    }
  }

  async #pass(): Promise<void> {
    const { items } = await this.#jobs().list({ signal: this.#stop.signal });
    const open = items.filter(({ status }) => !finalOperatorJobPhases.has(status?.phase ?? ''));
    for (const uid of this.#heard.keys()) if (!open.some(({ metadata }) => metadata.uid === uid)) this.#heard.delete(uid);
    for (const job of open) {
      const held = this.#mayWork(job) ? await this.#hold(job) : undefined;
      if (held === undefined) continue;
      const status = await this.#work(held);
      if (hasNews(held, status) || this.#isDue(held)) await this.#write(held, status);
    }
  }

  #mayWork({ metadata: { uid = '' }, status = { phase: 'Queued' } }: OperatorJob): boolean {
    const { identity, leaseFor } = this.#options;
    if (status.holder === undefined || status.holder === identity) return true;
    const sign = `${status.holder} ${status.renewedAt}`;
    const heard = this.#heard.get(uid);
    if (heard?.sign === sign) return performance.now() - heard.at >= leaseFor;
    this.#heard.set(uid, { sign, at: performance.now() });
    return false;
  }

  /** Undefined if another replica was faster. */
  #hold(job: OperatorJob): Promise<OperatorJob | undefined> | OperatorJob {
    return job.status?.holder === this.#options.identity ? job : this.#write(job, { phase: 'Running' });
  }

  #isDue({ status }: OperatorJob): boolean {
    return this.#options.now() - (Date.parse(status?.renewedAt ?? '') || 0) >= this.#options.leaseFor / 3;
  }

  /** Does the next part of the work, and returns the changes of the status. */
  async #work(job: OperatorJob): Promise<Partial<OperatorJobStatus>> {
    const { client, now } = this.#options;
    const { signal } = this.#stop;
    const { stock, cancelled, deadline } = job.spec;
    const { offering: name, count } = stock;
    if (cancelled) return this.#ended('Cancelled', 'cancelled');
    const offerings = client.resource<Offering>(offeringKind);
    const offering = await ignoring(offerings.get(name, { signal }), isNotFound);
    if (offering === undefined) return this.#ended('Failed', `there is no offering ${name}`);
    const units = offering.spec.stock?.units ?? 0;
    if (units < count) {
      if (job.status?.isRaised) return this.#ended('Failed', `somebody lowered the stock of ${name} to ${units}`);
      const { resourceVersion = '' } = offering.metadata;
      const patch = { metadata: { resourceVersion }, spec: { stock: { units: count } } };
      // Somebody else has changed the offering: it is read again in the next pass.
      if ((await ignoring(offerings.patch(name, { type: 'merge', patch }, { signal }), isConflict)) === undefined) return {};
    }
    const [bookings, nodeUnits] = await Promise.all([
      client.resource<NodeBooking>(nodeBookingKind).list({ signal }),
      client.resource<NodeUnit>(nodeUnitKind).list({ signal }),
    ]);
    const progress = stockProgress(name, bookings.items, nodeUnits.items);
    const message = progressWords(count, progress);
    const counts = { isRaised: true, ready: progress.ready, total: count };
    if (progress.ready >= count) return { ...counts, ...this.#ended('Succeeded', message) };
    const isLate = now() - (Date.parse(job.metadata.creationTimestamp ?? '') || 0) > millisecondsIn(deadline);
    return { ...counts, ...(isLate ? this.#ended('Failed', `not in time: ${message}`) : { message }) };
  }

  #ended(phase: OperatorJobStatus['phase'], message: string): Partial<OperatorJobStatus> {
    return { phase, message, finishedAt: formatTime(new Date(this.#options.now())) };
  }

  /** Undefined if the job is not as it was read. */
  #write(job: OperatorJob, status: Partial<OperatorJobStatus>): Promise<OperatorJob | undefined> {
    const { identity, now } = this.#options;
    const { name = '', resourceVersion = '' } = job.metadata;
    const message = status.message?.slice(0, mostWords);
    const patch = {
      metadata: { resourceVersion },
      status: { ...status, ...(message !== undefined && { message }), holder: identity, renewedAt: formatTime(new Date(now())) },
    } as unknown as JsonObject;
    const writing = this.#jobs().patch(name, { type: 'merge', patch }, { subresource: 'status', signal: this.#stop.signal });
    return ignoring(writing, isConflict, isNotFound);
  }

  #jobs() {
    return this.#options.client.resource<OperatorJob>(operatorJobKind);
  }
}

function hasNews({ status }: OperatorJob, next: Partial<OperatorJobStatus>): boolean {
  const before: Readonly<Record<string, unknown>> = { ...status };
  return Object.entries(next).some(([key, value]) => before[key] !== value);
}

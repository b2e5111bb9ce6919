import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeTask, type NodeTaskStatus, nodeNamespace, nodeTaskKind } from '@capstan/api';
import { ApiError, type Client, isConflict, isNotFound, type Resource } from '@capstan/client';
import { Backoff, type BackoffOptions, sameJson, Trouble } from '@capstan/machinery';
import type { TaskRequest } from './task-type.ts';

export interface TaskReportsOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
  /** How long a report of a step waits, in milliseconds: many tasks have ended by then. */
  readonly stepInterval?: number;
}

interface Queue {
  readonly request: TaskRequest;
  latest: NodeTaskStatus;
  /** Resolved when something else than a step is to be reported. */
  urgent: PromiseWithResolvers<void>;
  /** Resolved when the latest status, or a later one, is stored. */
  stored: PromiseWithResolvers<void>;
}

const fieldManager = 'capstan-node-agent';

/** Stores the status of tasks at the control plane, the latest of each task, for as long as that takes. */
export class TaskReports implements AsyncDisposable {
  readonly #options: TaskReportsOptions;
  readonly #tasks: Resource<NodeTask>;
  readonly #queues = new Map<string, Queue>();
  /** The versions of tasks as they were last stored here: as long as nobody else changes them, they need not be read. */
  readonly #versions = new Map<string, string>();
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #trouble: Trouble;

  constructor(options: TaskReportsOptions) {
    this.#options = options;
    this.#tasks = options.client.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(options.node));
    this.#trouble = new Trouble({
      log: options.log,
      begins: (why) => `the progress of tasks cannot be reported: ${why}`,
      lasts: (why, { duration, sources }) => `the progress of ${sources} tasks has not been reported for ${duration}: ${why}`,
      ends: ({ duration }) => `the progress of tasks is reported again after ${duration}`,
      now: () => performance.now(),
    });
  }

  /** Resolves when this status, or a later one of the task, is stored; also if the task does not exist any more. Rejects if the signal aborts first. */
  async report(request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const known = this.#queues.get(request.uid);
    const queue = known ?? { request, latest: status, urgent: Promise.withResolvers<void>(), stored: Promise.withResolvers<void>() };
    queue.latest = status;
    if (!isStep(status)) queue.urgent.resolve();
    if (known === undefined) {
      this.#queues.set(request.uid, queue);
      const sending = this.#send(queue).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
    const { promise } = queue.stored;
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Stores that an attempt begins, unless its status shows that somebody else has begun it. Rejects if the signal aborts first. */
  async claim(request: TaskRequest, status: NodeTaskStatus, signal: AbortSignal): Promise<'claimed' | 'taken'> {
    const { name, uid } = request;
    const backoff = new Backoff(this.#options.backoff);
    const queue = this.#queues.get(uid);
    if (queue !== undefined) queue.latest = status;
    // Without asking first, if nothing has happened to the task since it was seen.
    for (let object = seen(request); ; object = undefined) {
      try {
        object ??= await this.#tasks.get(name, { signal });
        if (object.metadata.uid !== uid || isNewer(object.status, status) || isTaken(object.status, status)) return 'taken';
        await this.#write(object, status, signal);
        this.#trouble.clear(uid);
        return 'claimed';
      } catch (error) {
        signal.throwIfAborted();
        if (isNotFound(error)) return 'taken';
        if (isConflict(error)) continue;
        this.#trouble.report(error instanceof Error ? error.message : String(error), uid);
        await sleep(backoff.next(), undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#sending);
  }

  async #send(queue: Queue): Promise<void> {
    const { uid } = queue.request;
    const backoff = new Backoff(this.#options.backoff);
    while (!this.#stop.signal.aborted) {
      if (isStep(queue.latest)) await this.#untilUrgent(queue);
      if (this.#stop.signal.aborted) return;
      const sent = queue.latest;
      try {
        await this.#store(queue.request, sent);
        this.#trouble.clear(uid);
        if (queue.latest !== sent) continue;
        this.#queues.delete(uid);
        return queue.stored.resolve();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isConflict(error)) continue;
        this.#trouble.report(error instanceof Error ? error.message : String(error), uid);
        if (isLasting(error)) {
          // Repeating a refused status would not help; the next one may be accepted.
          this.#options.log(`the status of task ${queue.request.name} was refused: ${(error as Error).message}`);
          this.#trouble.clear(uid);
          this.#queues.delete(uid);
          return queue.stored.resolve();
        }
        await sleep(backoff.next(), undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }

  async #untilUrgent(queue: Queue): Promise<void> {
    queue.urgent = Promise.withResolvers();
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, over.signal]);
    await Promise.race([sleep(this.#options.stepInterval ?? 1_000, undefined, { signal }).catch(() => {}), queue.urgent.promise]);
    over.abort();
  }

  async #store(request: TaskRequest, status: NodeTaskStatus): Promise<void> {
    const { signal } = this.#stop;
    const { name, uid } = request;
    try {
      const object = this.#lastStored(request) ?? (await this.#tasks.get(name, { signal }));
      if (object.metadata.uid !== uid || isNewer(object.status, status) || sameJson(object.status, status)) return;
      // A machine that has lost its records has no claim, and must be heard.
      if (status.claim !== undefined && isTaken(object.status, status)) return;
      await this.#write(object, status, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The task as it was last stored here. Only once: if somebody has changed it since, it has to be read. */
  #lastStored(request: TaskRequest): NodeTask | undefined {
    const resourceVersion = this.#versions.get(request.uid);
    this.#versions.delete(request.uid);
    return resourceVersion === undefined ? undefined : seen({ ...request, resourceVersion });
  }

  async #write(object: NodeTask, status: NodeTaskStatus, signal: AbortSignal): Promise<void> {
    const { metadata } = await this.#tasks.updateStatus({ ...object, status }, { signal, fieldManager });
    if (status.finishedAt === undefined) this.#versions.set(metadata.uid ?? '', metadata.resourceVersion ?? '');
  }
}

const isStep = ({ step, finishedAt }: NodeTaskStatus): boolean => step !== undefined && finishedAt === undefined;

/** The task as the watch showed it, as far as the status needs it. */
function seen({ name, uid, resourceVersion, spec }: TaskRequest): NodeTask | undefined {
  if (resourceVersion === undefined) return undefined;
  const apiVersion = `${nodeTaskKind.group}/${nodeTaskKind.version}`;
  return { apiVersion, kind: nodeTaskKind.kind, metadata: { name, uid, resourceVersion }, spec };
}

/** A report of a former attempt must not replace that of a later one. */
function isNewer(stored: NodeTaskStatus | undefined, { attempt = 0 }: NodeTaskStatus): boolean {
  return (stored?.attempt ?? 0) > attempt;
}

/** Whether somebody else, with the same identity, has begun the attempt. */
function isTaken(stored: NodeTaskStatus | undefined, { attempt, claim }: NodeTaskStatus): boolean {
  return stored?.attempt === attempt && stored?.claim !== undefined && stored.claim !== claim;
}

function isLasting(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 400 || error.code === 422);
}

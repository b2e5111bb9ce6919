import { setTimeout as sleep } from 'node:timers/promises';
import { type KindDefinition, nodeNamespace } from '@capstan/api';
import { ApiError, type Client, isConflict, isNotFound, type Resource } from '@capstan/client';
import { Backoff, type BackoffOptions, type Json, type JsonObject, type KubeObject, sameJson, Trouble } from '@capstan/machinery';

export interface StatusReportsOptions {
  readonly kind: KindDefinition;
  /** One of them and several, in messages: `unit`, `units`. */
  readonly words: { readonly one: string; readonly many: string };
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
  /** How long a report waits that differs in the step only, in milliseconds. */
  readonly stepInterval?: number;
  /** The same for reports of preparations, which are often over by then. */
  readonly preparingInterval?: number;
}

interface Report<Status> {
  uid: string;
  wanted: Status;
  /** As the control plane has it, as far as it is known. */
  stored: Status | undefined;
  isSending: boolean;
  /** Resolved when something is to be reported that should not wait. */
  urgent: PromiseWithResolvers<void>;
}

/** Keeps the status of objects of one kind at the control plane as it is here: writes the fields that differ, the latest of each object, for as long as that takes. */
export class StatusReports<Status extends { readonly phase: string; readonly reason?: string }> implements AsyncDisposable {
  readonly #options: StatusReportsOptions;
  readonly #objects: Resource;
  readonly #reports = new Map<string, Report<Status>>();
  readonly #known = new Map<string, Status>();
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #trouble: Trouble;

  constructor(options: StatusReportsOptions) {
    const { many } = options.words;
    this.#options = options;
    this.#objects = options.client.resource(options.kind).in(nodeNamespace(options.node));
    this.#trouble = new Trouble({
      log: options.log,
      begins: (why) => `the status of ${many} cannot be reported: ${why}`,
      lasts: (why, { duration, sources }) => `the status of ${sources} ${many} has not been reported for ${duration}: ${why}`,
      ends: ({ duration }) => `the status of ${many} is reported again after ${duration}`,
      now: () => performance.now(),
    });
  }

  /** The control plane has this status. */
  observe({ metadata: { name = '' }, ...rest }: KubeObject & { readonly status?: Status }): void {
    const status = rest.status ?? ({ phase: 'Pending' } as Status);
    const report = this.#reports.get(name);
    if (report === undefined) this.#known.set(name, status);
    else if (!report.isSending) report.stored = status;
  }

  /** The status from now on. */
  report({ name, uid }: { readonly name: string; readonly uid: string }, status: Status): void {
    if (this.#stop.signal.aborted) return;
    const report = this.#reports.get(name) ?? {
      uid,
      wanted: status,
      stored: this.#known.get(name),
      isSending: false,
      urgent: Promise.withResolvers<void>(),
    };
    if (report.uid !== uid) report.stored = undefined;
    report.uid = uid;
    report.wanted = status;
    if (this.#delay(report) === 0) report.urgent.resolve();
    this.#reports.set(name, report);
    if (report.isSending || changes(report) === undefined) return;
    report.isSending = true;
    const sending = this.#send(name, report).finally(() => {
      report.isSending = false;
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
  }

  /** The object does not exist any more. */
  forget(name: string): void {
    this.#reports.delete(name);
    this.#known.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#sending);
  }

  async #send(name: string, report: Report<Status>): Promise<void> {
    const { signal } = this.#stop;
    const backoff = new Backoff(this.#options.backoff);
    while (!signal.aborted && this.#reports.get(name) === report) {
      const delay = this.#delay(report);
      if (delay > 0) {
        report.urgent = Promise.withResolvers();
        await Promise.race([this.#pause(delay), report.urgent.promise]);
      }
      const status = changes(report);
      if (status === undefined || signal.aborted) return;
      const { uid, wanted } = report;
      try {
        const patch = { metadata: { uid }, status };
        await this.#objects.patch(name, { type: 'merge', patch }, { subresource: 'status', fieldManager: 'capstan-node-agent', signal });
        report.stored = wanted;
        this.#trouble.clear(name);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        if (isNotFound(error) || isConflict(error)) {
          // It was deleted, or another has its name: the watch says so, too.
          this.#trouble.clear(name);
          return;
        }
        if (error instanceof ApiError && (error.code === 400 || error.code === 422)) {
          this.#options.log(`the status of ${this.#options.words.one} ${name} was refused: ${error.message}`);
          this.#trouble.clear(name);
          // Repeating it would not help; the next one may be accepted.
          if (report.wanted === wanted) return;
        } else this.#trouble.report(error instanceof Error ? error.message : String(error), name);
        await this.#pause(backoff.next());
      }
    }
  }

  /** How long a report may wait for others, in milliseconds. */
  #delay(report: Report<Status>): number {
    const { stepInterval = 1_000, preparingInterval = 150 } = this.#options;
    const patch = changes(report);
    if (patch !== undefined && Object.keys(patch).every((key) => key === 'step')) return stepInterval;
    return report.wanted.phase === 'Preparing' && report.wanted.reason === undefined ? preparingInterval : 0;
  }

  async #pause(time: number): Promise<void> {
    await sleep(time, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

/** The fields that differ, as a merge patch; undefined if there are none. */
function changes({ wanted, stored }: Report<unknown>): JsonObject | undefined {
  const [to, from] = [wanted, stored ?? {}] as unknown as [Readonly<Record<string, Json>>, Readonly<Record<string, Json>>];
  const patch: JsonObject = {};
  for (const key of new Set([...Object.keys(to), ...Object.keys(from)])) {
    if (!sameJson(to[key], from[key])) patch[key] = to[key] ?? null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUNode, gpuNodeKind } from '@capstan/api';
import { type Client, Informer } from '@capstan/client';
import { Backoff, type BackoffOptions, sameJson, Trouble } from '@capstan/machinery';
import { agentWatch } from '../control-plane/watches.ts';
import type { ReportedStatus } from './node-status.ts';

export interface NodeReporterOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
  /** Called with the GPUNode whenever it changes. */
  readonly onNode?: (node: GPUNode) => void;
  /** Called when the control plane has accepted a report. */
  readonly onReported?: () => void;
}

/** Keeps the status of this machine's GPUNode as the agent sees it: writes it when it has changed. Fields of others, such as the identity, stay. */
export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #trouble: Trouble;
  #wanted: ReportedStatus | undefined;
  #stored: ReportedStatus | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(options: NodeReporterOptions) {
    this.#options = options;
    this.#trouble = new Trouble({
      log: options.log,
      begins: (why) => `the state of this node cannot be reported: ${why}`,
      lasts: (why, { duration }) => `the state of this node has not been reported for ${duration}: ${why}`,
      ends: ({ duration }) => `the state of this node is reported again after ${duration}`,
      now: () => performance.now(),
    });
  }

  /** The status from now on. */
  report(status: ReportedStatus): void {
    this.#wanted = status;
    this.#changed.resolve();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#watch(signal), this.#write(signal)]);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, node, onNode } = this.#options;
    const informer = new Informer<GPUNode>({
      resource: client.resource<GPUNode>(gpuNodeKind),
      fieldSelector: `metadata.name=${node}`,
      ...agentWatch,
    });
    using _followed = informer.onChange(({ type, object }) => {
      if (type !== 'deleted') onNode?.(object);
    });
    await informer.start(signal);
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { client, node } = this.#options;
    const backoff = new Backoff(this.#options.backoff);
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      await Promise.race([this.#changed.promise, stopped]);
      this.#changed = Promise.withResolvers();
      const wanted = this.#wanted;
      if (signal.aborted) return;
      if (wanted === undefined || sameJson(wanted, this.#stored)) continue;
      try {
        const object = { apiVersion: `${gpuNodeKind.group}/${gpuNodeKind.version}`, kind: gpuNodeKind.kind, metadata: { name: node } };
        await client
          .resource<GPUNode>(gpuNodeKind)
          .apply({ ...object, status: wanted }, { fieldManager: 'capstan-node-agent', force: true, subresource: 'status', signal });
        this.#stored = wanted;
        this.#options.onReported?.();
        this.#trouble.clear('node');
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        this.#trouble.report(error instanceof Error ? error.message : String(error), 'node');
        this.#changed.resolve();
        await sleep(backoff.next(), undefined, { signal }).catch(() => {});
      }
    }
  }
}

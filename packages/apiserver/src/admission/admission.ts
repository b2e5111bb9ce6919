import type { KubeObject } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A change that is about to be made. */
export interface AdmissionRequest {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** What the object will be; absent for deletions. Mutating plugins change it in place. */
  readonly object: KubeObject | undefined;
  /** What it is; absent for creations. */
  readonly old: KubeObject | undefined;
  readonly context: RequestContext;
  readonly dryRun: boolean;
}

/** A rule about changes that is not a kind's own. What it refuses it throws as a `StatusError`. Most answer at once: only webhooks return promises. */
export interface AdmissionPlugin {
  readonly name: string;
  mutate?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
}

export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  async mutate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) {
      const pending = plugin.mutate?.(request);
      if (pending !== undefined) await pending;
    }
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) {
      const pending = plugin.validate?.(request);
      if (pending !== undefined) await pending;
    }
  }
}

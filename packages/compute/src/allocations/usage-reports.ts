import { type ComputeUsage, computeUsageKind, computeUsageName, newObject, type UsedLimit } from '@capstan/api';
import { type Client, isAlreadyExists, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { formatTime, type JsonObject } from '@capstan/machinery';

/** A workspace with the limits that hold for it. */
export interface WorkspaceUsage {
  readonly cluster: string;
  /** In the view of the export. */
  readonly client: Client;
  readonly limits: readonly UsedLimit[];
}

interface Reported {
  readonly client: Client;
  readonly text: string;
  readonly at: number;
}

/** Tells tenants which limits hold for them, and how much they use: in a ComputeUsage, not too often. */
export class UsageReports {
  readonly #every: number;
  readonly #reported = new Map<string, Reported>();

  /** In milliseconds: how often the usage of a workspace is written at most. */
  constructor(every: number) {
    this.#every = every;
  }

  /** Workspaces that were told something, and must hear when it is over. */
  get told(): IteratorObject<[cluster: string, client: Client]> {
    return this.#reported.entries().map(([cluster, { client }]) => [cluster, client] as const as [string, Client]);
  }

  /** The writes that are due. `wait` is the time until the next one is, in milliseconds. */
  due(
    usages: Iterable<WorkspaceUsage>,
    now: number,
  ): { readonly writes: readonly ((signal: AbortSignal) => Promise<void>)[]; readonly wait?: number } {
    const writes: ((signal: AbortSignal) => Promise<void>)[] = [];
    let wait: number | undefined;
    for (const usage of usages) {
      const known = this.#reported.get(usage.cluster);
      const text = JSON.stringify(usage.limits);
      if (known?.text === text || (known === undefined && usage.limits.length === 0)) continue;
      const left = known === undefined ? 0 : known.at + this.#every - now;
      if (left > 0) wait = Math.min(wait ?? left, left);
      else writes.push((signal) => this.#write(usage, { text, at: now }, signal));
    }
    return { writes, ...(wait !== undefined && { wait }) };
  }

  async #write(
    { cluster, client, limits }: WorkspaceUsage,
    { text, at }: { readonly text: string; readonly at: number },
    signal: AbortSignal,
  ): Promise<void> {
    this.#reported.set(cluster, { client, text, at });
    const resource = client.cluster(cluster).resource<ComputeUsage>(computeUsageKind);
    const patch = { status: { limits, updatedAt: formatTime(new Date(at)) } } as unknown as JsonObject;
    const write = () => ignoring(resource.patch(computeUsageName, { type: 'merge', patch }, { subresource: 'status', signal }), isNotFound);
    if ((await write()) !== undefined) return;
    const object = newObject(computeUsageKind, { metadata: { name: computeUsageName } }) as ComputeUsage;
    // The workspace may be gone.
    const made = await ignoring(resource.create(object, { signal }), isNotFound, isAlreadyExists);
    if (made === undefined || (await write()) === undefined) this.#reported.delete(cluster);
  }
}

import { type FleetNode, type PlacedPart, type PlacementRequest, type QuotaAmount, QuotaLedger, type QuotaLimits } from '@capstan/fleet';

/** The limits of a workspace by its id; undefined if it has none. */
export type LimitsOf = (cluster: string) => QuotaLimits | undefined;

/** The amounts that a request will count, as far as they are known before it is placed. */
export function askedAmount({ size, nodes }: PlacementRequest): QuotaAmount {
  const each = size.kind === 'fraction' ? 0 : size.count;
  return { model: size.gpu.model, gpus: each * nodes, gpuMemory: each * nodes * (size.gpu.memory ?? 0) };
}

/** The amounts that devices count. Every node of an answer has GPUs of one kind. */
export function placedAmount(
  parts: readonly Pick<PlacedPart, 'node' | 'devices'>[],
  nodeOf: (name: string) => FleetNode | undefined,
): QuotaAmount {
  let model: string | undefined;
  let gpus = 0;
  let gpuMemory = 0;
  for (const { node, devices } of parts) {
    const known = new Map(nodeOf(node)?.gpus.map((gpu) => [gpu.uuid, gpu]));
    for (const uuid of devices) {
      const device = known.get(uuid);
      model ??= device?.model;
      gpuMemory += device?.memory ?? 0;
      gpus++;
    }
  }
  return { model, gpus, gpuMemory };
}

/**
 * Counts all allocations anew for one pass: first those that have devices, then those that wait, by age. So a restart, or another
 * scheduler, comes to the same result.
 */
export class PassQuota {
  readonly #ledger = new QuotaLedger();
  readonly #limitsOf: LimitsOf;
  readonly #known = new Set<string>();

  constructor(limitsOf: LimitsOf) {
    this.#limitsOf = limitsOf;
  }

  count(uid: string, cluster: string, amount: QuotaAmount): void {
    this.#learn(cluster);
    this.#ledger.setUse(uid, cluster, amount);
  }

  /** Counts the allocation unless that would exceed a limit; then returns why. */
  admit(uid: string, cluster: string, amount: QuotaAmount): string | undefined {
    this.#learn(cluster);
    const [refusal] = this.#ledger.check(cluster, amount, uid);
    if (refusal === undefined) this.#ledger.setUse(uid, cluster, amount);
    return refusal?.message;
  }

  #learn(cluster: string): void {
    if (this.#known.has(cluster)) return;
    this.#known.add(cluster);
    const limits = this.#limitsOf(cluster);
    this.#ledger.setWorkspace({ path: cluster, isHome: false, ...(limits && { limits }) });
  }
}

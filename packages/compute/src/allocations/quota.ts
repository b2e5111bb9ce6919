import type { FleetQuotaSpec, NodeVolume } from '@capstan/api';
import {
  type FleetNode,
  modelKey,
  type PlacedPart,
  type PlacementRequest,
  type QuotaAmount,
  QuotaLedger,
  type QuotaUse,
} from '@capstan/fleet';
import { countedVolume } from '../storages/quota.ts';

interface Devices {
  /** Undefined as long as any will do. */
  readonly model: string | undefined;
  readonly gpus: number;
  readonly gpuMemory: number;
  readonly cpu: number;
  readonly memory: number;
}

const amountOf = ({ model, ...amounts }: Devices): QuotaAmount => ({
  allocations: 1,
  ...amounts,
  ...(model !== undefined && { [modelKey(model)]: amounts.gpus }),
});

/** The amounts that a request will count, as far as they are known before it is placed. */
export function askedAmount({ size, nodes }: PlacementRequest): QuotaAmount {
  const each = size.kind === 'fraction' ? 0 : size.count;
  const known = (what: 'cpu' | 'memory'): number => (size.kind === 'devices' && size[what] !== 'share' ? size[what] * nodes : 0);
  return amountOf({
    model: size.gpu.model,
    gpus: each * nodes,
    gpuMemory: each * nodes * (size.gpu.memory ?? 0),
    cpu: known('cpu'),
    memory: known('memory'),
  });
}

/** The amounts that devices count. Every node of an answer has GPUs of one kind. */
export function placedAmount(parts: readonly PlacedPart[], nodeOf: (name: string) => FleetNode | undefined): QuotaAmount {
  let model: string | undefined;
  let [gpus, gpuMemory, cpu, memory] = [0, 0, 0, 0];
  for (const part of parts) {
    const known = new Map(nodeOf(part.node)?.gpus.map((gpu) => [gpu.uuid, gpu]));
    for (const uuid of part.devices) {
      const device = known.get(uuid);
      model ??= device?.model;
      gpuMemory += device?.memory ?? 0;
      gpus++;
    }
    cpu += part.cpu;
    memory += part.memory;
  }
  return amountOf({ model, gpus, gpuMemory, cpu, memory });
}

/**
 * Counts all allocations anew for one pass: first those that have devices, then those that wait, by age. So a restart, or another
 * scheduler, comes to the same result.
 */
export class PassQuota {
  readonly #ledger: QuotaLedger;

  constructor(quotas: Iterable<FleetQuotaSpec>) {
    this.#ledger = new QuotaLedger(quotas);
  }

  /** Whether nothing is limited, so that nothing has to be counted. */
  get isEmpty(): boolean {
    return this.#ledger.isEmpty;
  }

  count(uid: string, path: string, amount: QuotaAmount): void {
    if (!this.isEmpty) this.#ledger.setUse(uid, path, amount);
  }

  countVolume(volume: NodeVolume): void {
    const { id, path, amount } = countedVolume(volume);
    this.count(id, path, amount);
  }

  /** Counts the allocation unless that would exceed a limit; then returns why. */
  admit(uid: string, path: string, amount: QuotaAmount): string | undefined {
    if (this.isEmpty) return undefined;
    const [refusal] = this.#ledger.check(path, amount, uid);
    if (refusal === undefined) this.#ledger.setUse(uid, path, amount);
    return refusal?.message;
  }

  /** Counts the allocation no longer: it waits for its limit, and others may use what is left of it. */
  forget(uid: string): void {
    if (!this.isEmpty) this.#ledger.clearUse(uid);
  }

  /** The limits that hold for a workspace. */
  uses(path: string): QuotaUse[] {
    return this.isEmpty ? [] : this.#ledger.uses(path);
  }
}

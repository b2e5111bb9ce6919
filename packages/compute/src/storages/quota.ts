import type { FleetQuotaSpec, NodeVolume } from '@capstan/api';
import { type QuotaAmount, QuotaLedger } from '@capstan/fleet';

const nothing = { model: undefined, gpus: 0, gpuMemory: 0, cpu: 0, memory: 0, allocations: 0 };

/** The amounts that a volume counts. */
export const storageAmount = (bytes: number): QuotaAmount => ({ ...nothing, storage: bytes });

/** The id, the path and the amounts of a volume. Files count until they are deleted, also those that were retained. */
export function countedVolume({
  metadata,
  spec,
  status,
}: NodeVolume): readonly [id: string, path: string, amount: QuotaAmount] | undefined {
  if (status?.phase === 'Deleted') return undefined;
  const { path, cluster } = spec.owner;
  return [metadata.name ?? '', path ?? cluster, storageAmount(spec.size)];
}

interface Asked {
  /** Of the NodeVolume. */
  readonly name: string;
  /** Of the workspace. */
  readonly path: string;
  readonly bytes: number;
}

interface QuotaState {
  readonly quotas: readonly FleetQuotaSpec[];
  readonly volumes: () => readonly NodeVolume[];
}

/**
 * Admits volumes as long as the limits of their workspaces allow it. A volume that was admitted counts at once, before its NodeVolume is written: two decisions in the
 * same moment cannot exceed a limit together.
 */
export class StorageQuota {
  readonly #admitted = new Map<string, Asked>();

  /** Why a volume cannot have the size; undefined if it can, and counts from now on. */
  admit(asked: Asked, state: QuotaState): string | undefined {
    const refusal = this.refusal(asked, state);
    if (refusal === undefined) this.#admitted.set(asked.name, asked);
    return refusal;
  }

  /** Like `admit`, for a volume that is not created yet: nothing counts. */
  refusal({ name, path, bytes }: Asked, { quotas, volumes }: QuotaState): string | undefined {
    const limiting = quotas.filter(({ limits }) => limits.storage !== undefined);
    if (limiting.length === 0) {
      // Nothing has to be counted, and everything is in the volumes when somebody sets a limit.
      this.#admitted.clear();
      return undefined;
    }
    const ledger = new QuotaLedger(limiting);
    for (const volume of volumes()) {
      const counted = countedVolume(volume);
      if (counted !== undefined) ledger.setUse(...counted);
      const { name: id = '' } = volume.metadata;
      if (volume.spec.size >= (this.#admitted.get(id)?.bytes ?? Number.POSITIVE_INFINITY)) this.#admitted.delete(id);
    }
    for (const one of this.#admitted.values()) ledger.setUse(one.name, one.path, storageAmount(one.bytes));
    return ledger.check(path, storageAmount(bytes), name)[0]?.message;
  }

  /** The storage is gone, or was not created after all. */
  forget(name: string): void {
    this.#admitted.delete(name);
  }
}

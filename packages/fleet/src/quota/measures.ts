import type { QuotaResource } from '@capstan/api';
import { counted, cpus, gibibytes } from '../words/amounts.ts';
import type { QuotaAmount, QuotaLimits, QuotaUse } from './limits.ts';

/** Sums of what allocations have, or ask for. */
export interface Totals {
  allocations: number;
  gpus: number;
  gpuMemory: number;
  cpu: number;
  memory: number;
  storage: number;
  /** How many allocations and storages are in these sums. */
  parts: number;
  readonly models: Map<string, number>;
}

export const noTotals = (): Totals => ({
  allocations: 0,
  gpus: 0,
  gpuMemory: 0,
  cpu: 0,
  memory: 0,
  storage: 0,
  parts: 0,
  models: new Map(),
});

export function addTo(totals: Totals, amount: QuotaAmount, sign: 1 | -1): void {
  const { model, gpus, gpuMemory, cpu, memory, storage = 0, allocations = 1 } = amount;
  totals.parts += sign;
  totals.allocations += sign * allocations;
  totals.storage += sign * storage;
  totals.gpus += sign * gpus;
  totals.gpuMemory += sign * gpuMemory;
  totals.cpu += sign * cpu;
  totals.memory += sign * memory;
  if (model !== undefined) totals.models.set(model, (totals.models.get(model) ?? 0) + sign * gpus);
}

/** Something that is limited, with the use of it. Models come first: they say the most. */
export function usesOf(workspace: string, limits: QuotaLimits, totals: Totals | undefined): QuotaUse[] {
  const models = Object.entries(limits.models ?? {}).map(([model, limit]) => ({
    workspace,
    resource: 'model' as const,
    model,
    limit,
    used: totals?.models.get(model) ?? 0,
  }));
  const others = (['gpus', 'gpuMemory', 'cpu', 'memory', 'storage', 'allocations'] as const).flatMap((resource) => {
    const limit = limits[resource];
    return limit === undefined ? [] : [{ workspace, resource, limit, used: totals?.[resource] ?? 0 }];
  });
  return [...models, ...others];
}

/** How much of the limit an allocation asks for. */
export function askedOf({ resource, model }: Pick<QuotaUse, 'resource' | 'model'>, asked: QuotaAmount): number {
  if (resource === 'allocations') return asked.allocations ?? 1;
  if (resource === 'storage') return asked.storage ?? 0;
  if (resource === 'model') return asked.model === model ? asked.gpus : 0;
  return asked[resource];
}

/** `8 H100`, `640 GiB of GPU memory`. */
export function quotaWords({ resource, model }: Pick<QuotaUse, 'resource' | 'model'>, amount: number): string {
  return words[resource](amount, model ?? '');
}

const words: Readonly<Record<QuotaResource, (amount: number, model: string) => string>> = {
  allocations: (amount) => counted(amount, 'allocation'),
  model: (amount, model) => `${amount} ${model}`,
  gpus: (amount) => counted(amount, 'GPU'),
  gpuMemory: (amount) => `${gibibytes(amount)} of GPU memory`,
  cpu: (amount) => cpus(amount),
  memory: (amount) => `${gibibytes(amount)} of memory`,
  storage: (amount) => `${gibibytes(amount)} of storage`,
};

import type { FleetLimits, FleetQuota } from '@capstan/api';

/** The limits of a quota in few words: `8 H100, 3 allocations`. */
export function limitsWords({ allocations, gpus, models = {}, gpuMemory, cpu, memory, storage, others = {} }: FleetLimits): string {
  const parts = [
    gpus === undefined ? undefined : `${gpus} GPUs`,
    ...Object.entries(models).map(([model, amount]) => `${amount} ${model}`),
    gpuMemory === undefined ? undefined : `${gpuMemory} of GPU memory`,
    cpu === undefined ? undefined : `${cpu} cores`,
    memory === undefined ? undefined : `${memory} of memory`,
    storage === undefined ? undefined : `${storage} of storage`,
    allocations === undefined ? undefined : `${allocations} allocations`,
    ...Object.entries(others).map(([measure, amount]) => `${amount} ${measure}`),
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

export const limitedBy = ({ spec }: FleetQuota): string => (spec.homes ? 'every home' : (spec.workspace ?? ''));

/** Reads `H100=8, H200=4`. Undefined if it is something else. */
export function modelsIn(text: string): Readonly<Record<string, number>> | undefined {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  const pairs = parts.map((part) => /^([\w.-]+)\s*=\s*(\d+)$/.exec(part));
  return pairs.every((pair) => pair !== null) ? Object.fromEntries(pairs.map((pair) => [pair[1]!, Number(pair[2])])) : undefined;
}

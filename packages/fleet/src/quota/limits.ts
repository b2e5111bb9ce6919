import type { FleetLimits, QuotaResource } from '@capstan/api';
import { parseQuantity, scaledValue } from '@capstan/machinery';

/** The most that a workspace and everything below it may have. Absent amounts are not limited. */
export interface QuotaLimits {
  readonly allocations?: number;
  /** GPUs and MIG instances of all models. */
  readonly gpus?: number;
  /** By model. */
  readonly models?: Readonly<Record<string, number>>;
  /** The memory of all GPUs together, in bytes. */
  readonly gpuMemory?: number;
  /** In thousandths of a core. */
  readonly cpu?: number;
  /** In bytes. */
  readonly memory?: number;
  /** In bytes. */
  readonly storage?: number;
}

/** The amounts that an allocation or a storage has, or asks for. */
export interface QuotaAmount {
  /** Undefined as long as any will do; check again when it is known. */
  readonly model: string | undefined;
  readonly gpus: number;
  /** Of all of its GPUs together, in bytes. */
  readonly gpuMemory: number;
  /** In thousandths of a core, and in bytes. Zero as long as they depend on the node. */
  readonly cpu: number;
  readonly memory: number;
  /** In bytes, of a storage. */
  readonly storage?: number;
  /** 0 for what is no allocation; 1 if absent. */
  readonly allocations?: number;
}

/** A limit, and how much of it is used. */
export interface QuotaUse {
  /** The path of the workspace whose limit it is. */
  readonly workspace: string;
  readonly resource: QuotaResource;
  /** For the resource `model`. */
  readonly model?: string;
  readonly limit: number;
  readonly used: number;
}

/** A limit that an allocation would exceed. */
export interface QuotaRefusal extends QuotaUse {
  readonly asked: number;
  /** More than the limit was asked for, so that waiting does not help unless it is raised. */
  readonly isPermanent: boolean;
  readonly message: string;
}

/** The limits of a stored quota, as numbers. */
export function limitsIn({ gpuMemory, cpu, memory, storage, ...counts }: FleetLimits): QuotaLimits {
  const amount = (quantity: string | number, scale = 0): number => Number(scaledValue(parseQuantity(quantity), scale));
  return {
    ...counts,
    ...(gpuMemory !== undefined && { gpuMemory: amount(gpuMemory) }),
    ...(cpu !== undefined && { cpu: amount(cpu, -3) }),
    ...(memory !== undefined && { memory: amount(memory) }),
    ...(storage !== undefined && { storage: amount(storage) }),
  };
}

/** Both limits hold. */
export function stricter(one: QuotaLimits, other: QuotaLimits): QuotaLimits {
  const names = ['allocations', 'gpus', 'gpuMemory', 'cpu', 'memory', 'storage'] as const;
  const least = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
  const numbers = names.map((name) => [name, least(one[name], other[name])] as const).filter(([, value]) => value !== undefined);
  const models = Object.fromEntries(
    [...new Set([...Object.keys(one.models ?? {}), ...Object.keys(other.models ?? {})])].map((model) => [
      model,
      least(one.models?.[model], other.models?.[model])!,
    ]),
  );
  return { ...Object.fromEntries(numbers), ...(Object.keys(models).length > 0 && { models }) };
}

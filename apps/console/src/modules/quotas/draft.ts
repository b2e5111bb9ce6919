import type { FleetLimits } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { modelsIn } from './words.ts';

/** A limit that is an amount, such as `10Ti`. */
export type AmountField = 'storage' | 'gpuMemory' | 'cpu' | 'memory';

/** Limits as a person fills them in. Empty fields are no limits. */
export interface QuotaDraft extends Readonly<Record<AmountField, string>> {
  readonly gpus: number | string;
  readonly allocations: number | string;
  /** `H100=8, H200=4`. */
  readonly models: string;
  /** Kept as they are. */
  readonly others: FleetLimits['others'];
}

const amountFields: readonly AmountField[] = ['storage', 'gpuMemory', 'cpu', 'memory'];

export function draftOf({ gpus, allocations, models = {}, storage, gpuMemory, cpu, memory, others }: FleetLimits): QuotaDraft {
  const text = (amount: string | number | undefined): string => String(amount ?? '');
  return {
    gpus: gpus ?? '',
    allocations: allocations ?? '',
    models: Object.entries(models)
      .map(([model, amount]) => `${model}=${amount}`)
      .join(', '),
    storage: text(storage),
    gpuMemory: text(gpuMemory),
    cpu: text(cpu),
    memory: text(memory),
    others,
  };
}

/** The limits of a draft; undefined if there are none, or if something is wrong. The server has the last word. */
export function limitsIn({ gpus, allocations, models: modelText, others, ...draft }: QuotaDraft): FleetLimits | undefined {
  const models = modelsIn(modelText);
  const given = amountFields.filter((field) => draft[field] !== '');
  if (models === undefined || !given.every((field) => isQuantity(draft[field]))) return undefined;
  const limits: FleetLimits = {
    ...Object.fromEntries(given.map((field) => [field, draft[field]])),
    ...(gpus !== '' && { gpus: Number(gpus) }),
    ...(allocations !== '' && { allocations: Number(allocations) }),
    ...(Object.keys(models).length > 0 && { models }),
    ...(others !== undefined && { others }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}

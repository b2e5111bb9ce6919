import { measures, type QuotaResource, quotaResources } from '@capstan/api';
import { cpus, gibibytes } from '../words/amounts.ts';
import type { QuotaAmount, QuotaLimits, QuotaUse } from './limits.ts';

/** Sums of what objects have, or ask for. */
export interface Totals {
  readonly amounts: Map<string, number>;
  /** How many objects are in these sums. */
  parts: number;
}

export const noTotals = (): Totals => ({ amounts: new Map(), parts: 0 });

export function addTo(totals: Totals, amount: QuotaAmount, sign: 1 | -1): void {
  totals.parts += sign;
  for (const [name, value] of Object.entries(amount)) totals.amounts.set(name, (totals.amounts.get(name) ?? 0) + sign * value);
}

/** The amount of GPUs of one model. */
export const modelKey = (model: string): string => `models/${model}`;

/** Everything that is limited, with the use of it. Models come first: they say the most. */
export function usesOf(workspace: string, limits: QuotaLimits, totals: Totals | undefined): QuotaUse[] {
  const uses = Object.entries(limits).map(([key, limit]) => ({ workspace, ...subjectOf(key), limit, used: totals?.amounts.get(key) ?? 0 }));
  return uses.toSorted((one, other) => order.indexOf(one.resource) - order.indexOf(other.resource));
}

const order: readonly QuotaResource[] = ['model', 'gpus', 'gpuMemory', 'cpu', 'memory', 'storage', 'allocations', 'other'];

type Subject = Pick<QuotaUse, 'resource' | 'model' | 'measure'>;

const named: ReadonlySet<string> = new Set(quotaResources);

function subjectOf(key: string): Subject {
  if (key.startsWith(modelKey(''))) return { resource: 'model', model: key.slice(modelKey('').length) };
  return named.has(key) ? { resource: key as QuotaResource } : { resource: 'other', measure: key };
}

/** How much of a limit is asked for. */
export function askedOf({ resource, model = '', measure = '' }: Subject, asked: QuotaAmount): number {
  return asked[resource === 'model' ? modelKey(model) : resource === 'other' ? measure : resource] ?? 0;
}

/** `8 H100`, `640 GiB of GPU memory`. */
export function quotaWords({ resource, model, measure }: Subject, amount: number): string {
  if (resource === 'model') return `${amount} ${model ?? ''}`;
  const name = resource === 'other' ? (measure ?? '') : resource;
  const declared = measures.get(name);
  if (declared === undefined) return `${amount} ${name}`;
  if (declared.unit === 'millicores') return cpus(amount);
  if (declared.unit === 'bytes') return `${gibibytes(amount)} of ${declared.of}`;
  return `${amount} ${declared.words[amount === 1 ? 0 : 1]}`;
}

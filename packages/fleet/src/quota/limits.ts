import { type FleetLimits, measures, type QuotaResource } from '@capstan/api';
import { parseQuantity, scaledValue } from '@capstan/machinery';

/** By measure; those with values of their own, such as the models of GPUs, as `models/H100`. */
export type Amounts = Readonly<Record<string, number>>;

/** The most that a workspace and everything below it may have. Absent amounts are not limited. */
export type QuotaLimits = Amounts;

/** The amounts that an object has, or asks for. Absent ones are zero, or not known yet: check again when they are. */
export type QuotaAmount = Amounts;

/** A limit, and how much of it is used. */
export interface QuotaUse {
  /** The path of the workspace whose limit it is. */
  readonly workspace: string;
  readonly resource: QuotaResource;
  /** For the resource `model`. */
  readonly model?: string;
  /** For the resource `other`: the measure of another product. */
  readonly measure?: string;
  readonly limit: number;
  readonly used: number;
}

/** A limit that an object would exceed. */
export interface QuotaRefusal extends QuotaUse {
  readonly asked: number;
  /** More than the limit was asked for, so that waiting does not help unless it is raised. */
  readonly isPermanent: boolean;
  readonly message: string;
}

/** The limits of a stored quota, as numbers. */
export function limitsIn({ others = {}, ...own }: FleetLimits): QuotaLimits {
  const numbers = Object.entries({ ...others, ...own }).flatMap(([name, limit]) =>
    typeof limit === 'object' ? Object.entries(limit).map(([value, most]) => [`${name}/${value}`, most]) : [[name, amountIn(name, limit)]],
  );
  return Object.fromEntries(numbers) as QuotaLimits;
}

function amountIn(name: string, quantity: string | number): number {
  return Number(scaledValue(parseQuantity(quantity), measures.get(name)?.unit === 'millicores' ? -3 : 0));
}

/** Both limits hold. */
export function stricter(one: QuotaLimits, other: QuotaLimits): QuotaLimits {
  const least = Object.entries(other).map(([name, limit]) => [name, Math.min(limit, one[name] ?? limit)]);
  return { ...one, ...Object.fromEntries(least) };
}

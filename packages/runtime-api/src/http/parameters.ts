import { Problem } from '../problems/problem.ts';

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Refuses what cannot be the name of an object. */
export function checkName(text: string): void {
  if (text.length <= 253 && subdomain.test(text)) return;
  throw new Problem('invalid_path', 'Expected the id of an object: lower-case letters, digits, hyphens and dots, at most 253.');
}

export function namespaceIn(query: URLSearchParams): string {
  const text = query.get('namespace') || 'default';
  if (label.test(text)) return text;
  throw new Problem('invalid_parameter', 'namespace: expected lower-case letters, digits and hyphens, at most 63.');
}

export function wholeNumber(
  query: URLSearchParams,
  name: string,
  { from = 0, to }: { readonly from?: number; readonly to: number },
): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= from && value <= to) return value;
  throw new Problem('invalid_parameter', `${name}: expected a whole number from ${from} to ${to}.`);
}

export function truth(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === 'false') return false;
  if (text === 'true' || text === '') return true;
  throw new Problem('invalid_parameter', `${name}: expected true or false.`);
}

export function oneOf<T extends string>(query: URLSearchParams, name: string, choices: readonly T[]): T | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new Problem('invalid_parameter', `${name}: expected one of ${choices.join(', ')}.`);
}

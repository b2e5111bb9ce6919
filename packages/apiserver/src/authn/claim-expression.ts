import { COST_PER_CALL, compile, declare, toJson } from '@capstan/cel';
import type { Json, JsonObject } from '@capstan/machinery';
import { Unauthenticated } from './user.ts';

/**
 * The budget of all expressions of an issuer for one token: some milliseconds. The server does not know yet whom to charge for them. Honest ones
 * cost less than a thousandth.
 */
export class ClaimBudget {
  left = 250_000;
}

/** Evaluates an expression over the claims of a token, as far as the budget goes. */
export type ClaimExpression = (claims: Readonly<Record<string, unknown>>, budget: ClaimBudget) => Json;

/** The CEL types that an expression may return. */
export type ClaimResult = 'string' | 'list(string)' | 'bool';

/** Compiles an expression over `claims`. Throws an error that explains why it is invalid. */
export function claimExpression(source: string, at: string, results: readonly ClaimResult[]): ClaimExpression {
  const { program, message } = compile(source, { variables: new Map([['claims', declare.dyn]]) });
  if (program === undefined) throw new TypeError(`authentication configuration: ${at}: ${message}`);
  if (program.typeName !== 'dyn' && program.typeName !== 'list(dyn)' && !results.includes(program.typeName as ClaimResult)) {
    throw new TypeError(`authentication configuration: ${at}: must evaluate to ${results.join(' or ')}, not ${program.typeName}`);
  }
  return (claims, budget) => {
    const limit = Math.max(0, Math.min(COST_PER_CALL, budget.left));
    const { value, error, work } = program.evaluate({ claims: claims as JsonObject }, { costLimit: limit, stepLimit: limit });
    budget.left -= work;
    if (error !== undefined) throw new Unauthenticated(`oidc: error evaluating ${at}: ${error}`);
    return toJson(value) as Json;
  };
}

/** Converts a string or a list of strings to a list. */
export function textsFrom(value: Json, at: string): string[] {
  if (value === null || value === '') return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw new Unauthenticated(`oidc: ${at}: expected a string or a list of strings`);
}

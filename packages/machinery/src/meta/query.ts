import { quote } from '../field/error.ts';
import { badRequest } from '../status/status.ts';
import type { DeleteOptions, ListOptions, PatchOptions } from './options.ts';

/** A parsed query string, such as `URLSearchParams`. */
export interface Query {
  get(name: string): string | null;
  getAll(name: string): string[];
}

/** Absent, `0` and `false` are false; anything else, even an empty value, is true. */
export function queryBoolean(text: string | null): boolean | undefined {
  return text === null ? undefined : text !== '0' && text.toLowerCase() !== 'false';
}

const int64Max = 2n ** 63n - 1n;

/** Errors use the words of Go's strconv, as clients expect. */
export function queryInteger(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`);
  if (text.length > 15) {
    const value = text.length > 32 ? int64Max + 1n : BigInt(text.replace('+', ''));
    if (value > int64Max || value < -int64Max - 1n) throw badRequest(`strconv.ParseInt: parsing ${quote(text)}: value out of range`);
  }
  return Number(text);
}

export function parseListOptions(query: Query): ListOptions {
  return {
    watch: queryBoolean(query.get('watch')),
    allowWatchBookmarks: queryBoolean(query.get('allowWatchBookmarks')),
    resourceVersion: query.get('resourceVersion') ?? undefined,
    resourceVersionMatch: query.get('resourceVersionMatch') ?? undefined,
    timeoutSeconds: queryInteger(query.get('timeoutSeconds')),
    limit: queryInteger(query.get('limit')),
    continue: query.get('continue') ?? undefined,
    sendInitialEvents: queryBoolean(query.get('sendInitialEvents')),
  };
}

/** Also for create and update, which have no `force`. */
export function parsePatchOptions(query: Query): PatchOptions {
  const dryRun = query.getAll('dryRun');
  return {
    dryRun: dryRun.length === 0 ? undefined : dryRun,
    force: queryBoolean(query.get('force')),
    fieldManager: query.get('fieldManager') ?? undefined,
    fieldValidation: query.get('fieldValidation') ?? undefined,
  };
}

/** The options of a DELETE without a body. */
export function parseDeleteOptions(query: Query): DeleteOptions {
  const dryRun = query.getAll('dryRun');
  return {
    gracePeriodSeconds: queryInteger(query.get('gracePeriodSeconds')),
    orphanDependents: queryBoolean(query.get('orphanDependents')),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    dryRun: dryRun.length === 0 ? undefined : dryRun,
    ignoreStoreReadErrorWithClusterBreakingPotential: queryBoolean(query.get('ignoreStoreReadErrorWithClusterBreakingPotential')),
  };
}

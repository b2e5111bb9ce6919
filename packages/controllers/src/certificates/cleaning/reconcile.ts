import { X509Certificate } from 'node:crypto';
import { done, type Result, requeueAfter } from '@capstan/controller';
import { conditionOf, type SigningRequest } from '../request.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** The queue does not wait longer than this: clocks are adjusted, and machines sleep. */
const longestWait = hour;

export interface CleaningActions {
  readonly remove: (request: SigningRequest) => Promise<unknown>;
  readonly now: () => number;
}

/** Deletes a request whose time is over, or looks again when it is. */
export async function reconcileAge(request: SigningRequest | undefined, { remove, now }: CleaningActions): Promise<Result> {
  const end = request && endOf(request);
  if (request === undefined || end === undefined) return done;
  const wait = end - now();
  if (wait > 0) return requeueAfter(Math.min(wait, longestWait));
  await remove(request);
  return done;
}

/** When a request can be deleted, in milliseconds since 1970; undefined while it waits for an answer that will come. */
export function endOf(request: SigningRequest): number | undefined {
  const { status, metadata } = request;
  const after = (time: string | null | undefined, wait: number): number[] => {
    const from = Date.parse(time ?? '');
    return Number.isNaN(from) ? [] : [from + wait];
  };
  const since = (type: string): number[] => after(conditionOf(request, type)?.lastUpdateTime, hour);
  const certificate = status?.certificate ?? '';
  const ends = [...since('Denied'), ...since('Failed')];
  if ((status?.conditions ?? []).length === 0) ends.push(...after(metadata.creationTimestamp, day));
  if (certificate !== '' && conditionOf(request, 'Approved') !== undefined) ends.push(...since('Approved'), ...expiryOf(certificate));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function expiryOf(base64: string): number[] {
  try {
    return [new X509Certificate(Buffer.from(base64, 'base64')).validToDate.getTime()];
  } catch {
    return [];
  }
}

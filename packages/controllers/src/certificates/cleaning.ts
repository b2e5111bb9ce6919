import { X509Certificate } from 'node:crypto';
import { conditionOf, type SigningRequest } from './request.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** When a request may go, in milliseconds since 1970; undefined while it waits for something that will come. */
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

import { hasMoreValues, hasWideObject, type Parts, status } from '@capstan/machinery';
import type { Exchange } from '../http/exchange.ts';
import { Pace } from '../registry/pace.ts';

export const bodyLimit = 3 << 20;

/** Fields and items of a body. The time to decode, default, validate and store an object depends on them more than on its size. */
const mostValues = 100_000;
/** Fields of one object: JavaScript lists the names of more fields than these in one step that takes long. */
const mostFields = 20_000;

/** In bytes: a field takes five at least, so that a shorter body cannot be over these limits. */
const shortBody = 5 * mostFields;

/** Reads the body of a write. */
export async function bodyOf(exchange: Exchange): Promise<Buffer> {
  const bytes = await exchange.body(bodyLimit);
  if (bytes.length > shortBody && isJson(bytes)) await new Pace(exchange.client).run(check(bytes));
  return bytes;
}

function* check(json: Buffer): Parts<void> {
  if (yield* hasMoreValues(json, mostValues))
    throw status.requestTooLarge(`the body has more than ${mostValues} fields and items, which is the limit`);
  if (yield* hasWideObject(json, mostFields))
    throw status.requestTooLarge(`an object in the body has more than ${mostFields} fields, which is the limit`);
}

/** Bodies that are sent as YAML may be JSON. Other YAML must be short. */
function isJson(bytes: Buffer): boolean {
  return /^\s*[[{]/.test(bytes.toString('latin1', 0, 64));
}

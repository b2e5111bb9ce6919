import { createHash } from 'node:crypto';
import type { Exchange } from './exchange.ts';

/** The tag of a document: of what it says, so that it is another one whenever that changes. */
export function entityTag(content: string): string {
  return `"${createHash('sha512').update(content).digest('hex').toUpperCase()}"`;
}

/**
 * Sends the tag of a document; true when the client has the document already and was told so. `If-Modified-Since` is never looked at: times are told in seconds, and
 * within one a document may change many times.
 */
export function isKnown(exchange: Exchange, tag: string): boolean {
  exchange.header('ETag', tag);
  const known = exchange.headers['if-none-match'];
  if (known === undefined || !names(known, tag)) return false;
  exchange.send({ code: 304, type: '', body: '' });
  return true;
}

function names(list: string, tag: string): boolean {
  return list === tag || list.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

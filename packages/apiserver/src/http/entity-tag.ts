import { createHash } from 'node:crypto';
import type { Exchange } from './exchange.ts';

/** The ETag of a document, derived from its content. */
export function entityTag(content: string): string {
  return `"${createHash('sha512').update(content).digest('hex').toUpperCase()}"`;
}

/**
 * Sends the ETag of a document; if the client already has the document, responds 304 and returns true. `If-Modified-Since` is
 * ignored: its resolution is a second, in which a document may change many times.
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

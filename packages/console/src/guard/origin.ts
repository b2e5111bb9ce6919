import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { Refusal } from './refusal.ts';

/** Where browsers find the console. */
export interface Site {
  /** Browsers use https, to this process or to a proxy in front of it. */
  readonly secure: boolean;
  /** Names in addresses, besides those of this machine. Addresses with numbers always work. */
  readonly names: readonly string[];
}

export const consoleHeader = 'x-capstan-console';
const reading = new Set(['GET', 'HEAD']);

/**
 * Checks that the browser means this server. A name that is not ours may be of somebody who lets it point to this machine, whose pages would then count as
 * ours (DNS rebinding). An address with numbers cannot be pointed elsewhere.
 */
export function checkHost({ headers: { host = '' } }: IncomingMessage, { names }: Site): void {
  const name = /^(\[[\da-f:.]+\]|[^:[\]@/\\]+)(:\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase().replace(/\.$/, '');
  if (name !== undefined && (isIP(name.replaceAll(/[[\]]/g, '')) !== 0 || name === 'localhost' || names.includes(name))) return;
  throw new Refusal(
    'wrong_host',
    `This console is not called ${JSON.stringify(host.slice(0, 100))}. Add the name to "names" in the section "console".`,
  );
}

/** Whether a request comes from a page of the console itself, as the browser says. */
function isOwnOrigin({ headers }: IncomingMessage, { secure }: Site): boolean {
  const { origin, host = '', 'sec-fetch-site': from } = headers;
  return origin === `${secure ? 'https' : 'http'}://${host}` && (from === undefined || from === 'same-origin');
}

/** For requests that change something. A form of another origin cannot send the header. */
export function checkChange(incoming: IncomingMessage, site: Site): void {
  if (!isOwnOrigin(incoming, site)) throw foreign();
  if (incoming.headers[consoleHeader] !== '1') throw new Refusal('wrong_origin', `Expected the header ${consoleHeader}: 1.`);
}

/** For WebSockets, with which browsers cannot send headers. */
export function checkUpgrade(incoming: IncomingMessage, site: Site): void {
  if (!isOwnOrigin(incoming, site)) throw foreign();
}

/**
 * For everything that answers with data of the cloud. Pages read it with `fetch`; as a document, script or frame it would run what a tenant wrote under the origin
 * of the console.
 */
export function checkData(incoming: IncomingMessage, site: Site): void {
  if (!reading.has(incoming.method ?? '')) return checkChange(incoming, site);
  const { origin, 'sec-fetch-site': from = 'same-origin', 'sec-fetch-dest': as = 'empty' } = incoming.headers;
  if (from !== 'same-origin' || (origin !== undefined && !isOwnOrigin(incoming, site))) throw foreign();
  if (as !== 'empty') throw new Refusal('wrong_origin', 'This address answers to requests of the pages only, and cannot be opened.');
}

function foreign(): Refusal {
  return new Refusal('wrong_origin', 'This request does not come from a page of the console.');
}

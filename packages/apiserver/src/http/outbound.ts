import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Address ranges that have a name in the configuration. */
const named: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128']],
  ['linkLocal', ['169.254.0.0/16', 'fe80::/10']],
  ['private', ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', '64:ff9b::/96', '64:ff9b:1::/48']],
]);

export interface OutboundOptions {
  /** `loopback`, `linkLocal`, `private`, or a range such as `10.0.0.0/8`. */
  readonly deny: readonly string[];
  /** Ranges that are allowed within the denied ones. */
  readonly allow?: readonly string[];
}

/** Whether a text is a valid range for the options. */
export function isRange(text: string): boolean {
  return named.has(text) || parseRange(text) !== undefined;
}

/**
 * A tenant configured an address that is not permitted. The message does not contain the address: tenants must not learn the
 * addresses of names.
 */
class NotPermitted extends Error {
  override readonly name = 'NotPermitted';

  constructor(host: string) {
    super(`${JSON.stringify(host)} is at an address that workspaces may not make the server call (workspaces.outbound.deny)`);
  }
}

/** Stops tenants from directing the server to arbitrary addresses through webhooks and issuers. */
export class Outbound {
  readonly #denied: BlockList;
  readonly #allowed: BlockList;

  constructor({ deny, allow = [] }: OutboundOptions) {
    this.#denied = blockList(deny);
    this.#allowed = blockList(allow);
  }

  /** Throws if the host is an address that is not permitted. Names are checked when they are looked up. */
  check(host: string): void {
    if (isIP(host) !== 0 && !this.#permits(host)) throw new NotPermitted(host);
  }

  /**
   * Looks up a name for a connection, which then uses one of these addresses without another lookup: changing the DNS record in
   * between has no effect.
   */
  readonly lookup: LookupFunction = (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return done(error, '', 0);
      if (!addresses.every(({ address }) => this.#permits(address))) return done(new NotPermitted(host), '', 0);
      const [first] = addresses;
      if (options.all === true) done(null, addresses);
      else done(null, first!.address, first!.family);
    });
  };

  #permits(address: string): boolean {
    // A zone at the end only names an interface.
    const [plain = ''] = address.split('%', 1);
    const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
    return !this.#denied.check(plain, family) || this.#allowed.check(plain, family);
  }
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges.flatMap((name) => named.get(name) ?? [name])) {
    const range = parseRange(text);
    if (range === undefined)
      throw new TypeError(`expected loopback, linkLocal, private or a range such as 10.0.0.0/8, found ${JSON.stringify(text)}`);
    list.addSubnet(range.address, range.length, range.family);
  }
  return list;
}

function parseRange(text: string): { address: string; length: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, address = '', digits = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const version = isIP(address);
  const length = Number(digits);
  if (version === 0 || length > (version === 4 ? 32 : 128)) return undefined;
  return { address, length, family: version === 4 ? 'ipv4' : 'ipv6' };
}

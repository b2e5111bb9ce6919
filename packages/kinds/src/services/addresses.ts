import { isIP, isIPv4 } from 'node:net';

const notAddress = ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
const notRange = ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
const nothingWrong: readonly string[] = [];

export function addressProblems(value: string): readonly string[] {
  return isIP(value) === 0 || value.includes('%') ? notAddress : nothingWrong;
}

export function rangeProblems(value: string): readonly string[] {
  return parseRange(value) === undefined ? notRange : nothingWrong;
}

const notInterfaceAddress = ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'];

/** Why a value is not an interface address with its prefix length in canonical form. */
export function interfaceAddressProblems(value: string): readonly string[] {
  const range = parseRange(value);
  if (range === undefined) return notInterfaceAddress;
  const address = value.slice(0, value.indexOf('/'));
  const shown = range.width === 32 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1);
  const canonical = `${shown}/${range.prefix}`;
  return value === canonical ? nothingWrong : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

export interface AddressRange {
  readonly base: bigint;
  readonly prefix: number;
  readonly width: 32 | 128;
}

export function parseRange(value: string): AddressRange | undefined {
  const slash = value.indexOf('/');
  const address = value.slice(0, slash);
  const length = value.slice(slash + 1);
  const base = slash === -1 ? undefined : parseAddress(address);
  if (base === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const width = isIPv4(address) ? 32 : 128;
  const prefix = Number(length);
  return prefix > width ? undefined : { base, prefix, width };
}

function parseAddress(address: string): bigint | undefined {
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  if (isIPv4(address)) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  const [head = '', tail] = expandEmbedded(address).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const parts = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return parts.reduce((sum, part) => (sum << 16n) | BigInt(`0x${part}`), 0n);
}

/** Converts the IPv4 suffix of an address such as `::ffff:10.0.0.1` to hexadecimal groups. */
function expandEmbedded(address: string): string {
  const at = address.lastIndexOf(':');
  const last = address.slice(at + 1);
  if (!last.includes('.')) return address;
  const [a, b, c, d] = last.split('.').map(Number);
  return `${address.slice(0, at + 1)}${((a! << 8) | b!).toString(16)}:${((c! << 8) | d!).toString(16)}`;
}

/** Whether a range is a proper subset of another one of the same family. */
export function isStrictlyWithin(inner: AddressRange, outer: AddressRange): boolean {
  if (inner.width !== outer.width || inner.prefix <= outer.prefix) return false;
  const shift = BigInt(outer.width - outer.prefix);
  return inner.base >> shift === outer.base >> shift;
}

/** Why traffic may not be sent to an address: loopback addresses and the like are not reachable from other hosts. */
export function specialAddressProblems(value: string): readonly string[] {
  const address = value.toLowerCase();
  const found: string[] = [];
  if (address === '0.0.0.0' || address === '::') found.push(`may not be unspecified (${value})`);
  if (address.startsWith('127.') || address === '::1') found.push('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (address.startsWith('169.254.') || /^fe[89ab]/.test(address))
    found.push('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  if (address.startsWith('224.0.0.') || address.startsWith('ff02:')) {
    found.push('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  }
  return found;
}

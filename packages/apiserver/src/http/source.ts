import { isIPv6 } from 'node:net';

/**
 * The source of a client for counting: an IPv4 address, or the /64 network of an IPv6 address, because one host usually owns the
 * whole network and could otherwise use 2^64 addresses.
 */
export function sourceOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1]!;
  if (!isIPv6(address) || address === '::1') return address;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array.from({ length: zeros }, () => '0'), ...back];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

export function isLoopback(source: string): boolean {
  return source === '::1' || source.startsWith('127.');
}

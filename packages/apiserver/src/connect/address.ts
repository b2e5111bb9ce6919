import { BlockList, isIP } from 'node:net';
import { fieldError, status } from '@capstan/machinery';

/** The name in the path of a proxy: `name`, `name:port` or `scheme:name:port`. */
export interface ProxyName {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

const kinds: Readonly<Record<string, string>> = { pods: 'pod', services: 'service', nodes: 'node' };

export function parseProxyName(text: string, resource: string): ProxyName {
  const parts = text.split(':');
  if (parts.length === 1) return { scheme: '', name: text, port: '' };
  if (parts.length === 2) return { scheme: '', name: parts[0]!, port: parts[1]! };
  if (parts.length === 3 && ['', 'http', 'https'].includes(parts[0]!)) return { scheme: parts[0]!, name: parts[1]!, port: parts[2]! };
  throw status.badRequest(`invalid ${kinds[resource]} request ${fieldError.quote(text)}`);
}

/** Addresses that are not those of one machine in a network: nobody may be led there. */
const special = new BlockList();
for (const [network, length] of [
  ['0.0.0.0', 32],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
] as const)
  special.addSubnet(network, length, 'ipv4');
for (const [network, length] of [
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  special.addSubnet(network, length, 'ipv6');

/** Rejects addresses that Kubernetes does not proxy to: loopback, link-local, multicast and those that are none. */
export function requireProxyable(address: string): void {
  const family = isIP(address);
  if (family === 0 || special.check(address, family === 6 ? 'ipv6' : 'ipv4')) throw status.badRequest('address not allowed');
}

import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Services for machines rather than for tenants, as in the rules of isolated units: loopback, metadata of clouds, multicast; and ways around them. */
const refused: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
  // Addresses of version 4 in other words.
  ['64:ff9b::', 96],
  ['2002::', 16],
];

/** Whether no tenant may make this node connect to an address: to the node itself, or to services that trust it. */
export function isRefused(address: string): boolean {
  const family = familyOf(address);
  if (family === undefined) return true;
  const list = new BlockList();
  for (const [net, prefix] of refused) list.addSubnet(net, prefix, familyOf(net)!);
  for (const own of Object.values(networkInterfaces()).flatMap((one) => one ?? [])) {
    const plain = own.address.split('%')[0]!;
    list.addAddress(plain, familyOf(plain)!);
  }
  return list.check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6';
}

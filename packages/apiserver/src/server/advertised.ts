import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

type Interfaces = NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>;

/** Where others on the network find a server on this host: an address of the machine where it serves on all. Nothing where the host is a name. */
export function advertisedAddress(host: string, interfaces: Interfaces): string | undefined {
  if (host !== '0.0.0.0' && host !== '::') return isIP(host) === 0 ? undefined : host;
  const outer = Object.values(interfaces)
    .flatMap((one) => one ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const of = (family: 'IPv4' | 'IPv6'): string | undefined => outer.find((one) => one.family === family)?.address;
  return of('IPv4') ?? (host === '::' ? of('IPv6') : undefined) ?? '127.0.0.1';
}

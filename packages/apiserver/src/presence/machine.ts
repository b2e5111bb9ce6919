import { readFileSync } from 'node:fs';
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** The facts about the machine from which a server derives its addresses. */
export interface Machine {
  readonly hostname: string;
  readonly interfaces: NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>;
  /** The interface with the default route, if known. */
  readonly defaultInterface: string | undefined;
}

export function thisMachine(): Machine {
  return { hostname: hostname(), interfaces: networkInterfaces(), defaultInterface: defaultInterface(routes()) };
}

/** This file exists only on Linux; elsewhere the first address is used. */
function routes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}

/** The interface of the default route with the lowest metric, from a table such as /proc/net/route. */
export function defaultInterface(table: string): string | undefined {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((left, right) => Number(left[6]) - Number(right[6]))[0]?.[0];
}

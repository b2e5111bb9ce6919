import { readFileSync } from 'node:fs';
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** What a server has to know about the machine that it runs on to say where it is. */
export interface Machine {
  readonly hostname: string;
  readonly interfaces: NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>;
  /** The interface with the default route, where that is known. */
  readonly defaultInterface: string | undefined;
}

export function thisMachine(): Machine {
  return { hostname: hostname(), interfaces: networkInterfaces(), defaultInterface: defaultInterface(routes()) };
}

/** Only Linux has this file; elsewhere the first address must do. */
function routes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}

/** The interface of the default route with the lowest metric in a table such as /proc/net/route. */
export function defaultInterface(table: string): string | undefined {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((left, right) => Number(left[6]) - Number(right[6]))[0]?.[0];
}

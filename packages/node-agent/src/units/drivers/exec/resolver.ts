import { readFile } from 'node:fs/promises';

/** Where systemd-resolved writes the servers that it asks itself. */
const upstream = '/run/systemd/resolve/resolv.conf';

export interface Resolver {
  /** The content of /etc/resolv.conf in units. */
  readonly text: string;
  readonly servers: readonly string[];
}

/** The node's name servers as a unit in a network of its own can reach them: a server on the node's loopback is replaced by those behind it. */
export async function unitResolver(read: (file: string) => Promise<string> = readText): Promise<Resolver> {
  const own = parse(await read('/etc/resolv.conf'));
  const parsed = own.servers.some(isLoopback) ? parse(await read(upstream)) : own;
  const servers = parsed.servers.filter((server) => !isLoopback(server) && !server.includes(':'));
  const lines = [...servers.map((server) => `nameserver ${server}`), ...(own.rest.length > 0 ? own.rest : parsed.rest)];
  return { text: `${lines.join('\n')}\n`, servers };
}

function parse(text: string): { servers: string[]; rest: string[] } {
  const lines = text.split('\n').map((line) => line.trim());
  const servers = lines.flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
  return { servers, rest: lines.filter((line) => /^(search|options|domain)\s/.test(line)) };
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

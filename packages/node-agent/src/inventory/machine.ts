import { readFile } from 'node:fs/promises';
import { arch, cpus, hostname, networkInterfaces, release, totalmem, type } from 'node:os';
import type { NodeAddress, NodeMachine } from '@capstan/api';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const mostAddresses = 64;
/** Bridges and virtual cables of container runtimes come and go with containers. */
const passing = /^(lo|veth|cali|cni|docker|br-|flannel|tun|tap|virbr)/;

/** The facts about this machine that rarely change. */
export async function describeMachine(agentVersion: string, upgradable = false): Promise<NodeMachine> {
  const text = async (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
  const [release_, boot] = await Promise.all([text('/etc/os-release'), text('/proc/sys/kernel/random/boot_id')]);
  return {
    hostname: hostname().slice(0, 253),
    cpus: cpus().length,
    memoryBytes: totalmem(),
    os: (systemName(release_) ?? type()).slice(0, 253),
    kernel: release(),
    architecture: architectures[arch()] ?? arch(),
    agentVersion,
    upgradable,
    ...(boot !== '' && { bootId: boot.trim() }),
  };
}

/** `PRETTY_NAME` in `/etc/os-release`. */
export function systemName(text: string): string | undefined {
  return /^PRETTY_NAME=(?:"([^"]*)"|'([^']*)'|(.*))$/m.exec(text)?.slice(1).find(Boolean);
}

/** Addresses at which other machines may reach this one, in a stable order. */
export function addressesOf(interfaces = networkInterfaces()): NodeAddress[] {
  return Object.entries(interfaces)
    .filter(([name]) => !passing.test(name))
    .flatMap(([name, entries = []]) =>
      entries
        .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
        .map(({ address }) => ({ interface: name, address })),
    )
    .sort((one, other) => (one.interface + one.address < other.interface + other.address ? -1 : 1))
    .slice(0, mostAddresses);
}

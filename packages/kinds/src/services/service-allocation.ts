import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, isAbsent, itemsOf, numberOf, textOf, textsOf } from '@capstan/machinery';
import type { StrategyContext } from '../strategy.ts';

/** Allocates addresses and ports of services. Nothing routes to them here, but clients expect them. */
const addressPrefix = '10.96.';
export const addressRange = '10.96.0.0/16';
const addressCount = 65_536;
/** The network address, the first address (of the API's own service) and the broadcast address are never allocated. */
const reservedAddresses = new Set([0, 1, addressCount - 1]);
const firstPort = 30_000;
export const portRange = '30000-32767';
const portCount = 2_768;

export function needsAddress(spec: Readonly<Fields>): boolean {
  return spec['type'] !== 'ExternalName';
}

export function needsNodePorts(spec: Readonly<Fields>): boolean {
  return spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
}

export function needsHealthPort(spec: Readonly<Fields>): boolean {
  return spec['type'] === 'LoadBalancer' && spec['externalTrafficPolicy'] === 'Local';
}

/** Whether the service can be reached from outside the cluster. */
export function isExternallyAccessible(spec: Readonly<Fields>): boolean {
  return needsNodePorts(spec) || (spec['type'] === 'ClusterIP' && textsOf(spec['externalIPs']).length > 0);
}

export function isInAddressRange(address: string): boolean {
  return address.startsWith(addressPrefix);
}

export function isInPortRange(port: number): boolean {
  return port >= firstPort && port < firstPort + portCount;
}

/** The addresses and ports of the workspace's other services. */
export interface Taken {
  readonly addresses: ReadonlySet<string>;
  readonly ports: ReadonlySet<number>;
}

export function takenByOthers(service: KubeObject, context: StrategyContext): Taken {
  const addresses = new Set<string>();
  const ports = new Set<number>();
  for (const other of context.objects.list({ group: '', resource: 'services' }, context.cluster)) {
    if (other.metadata.name === service.metadata.name && other.metadata.namespace === service.metadata.namespace) continue;
    const spec = fieldsOf(other['spec']);
    for (const address of textsOf(spec['clusterIPs'])) addresses.add(address);
    for (const port of itemsOf(spec['ports'])) ports.add(numberOf(port['nodePort']));
    ports.add(numberOf(spec['healthCheckNodePort']));
  }
  return { addresses, ports };
}

/** FNV-1a. A service gets the same address wherever it is created, so a restored workspace looks the same. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function freeAddress(seed: string, taken: ReadonlySet<string>): string | undefined {
  const start = hashOf(seed) % addressCount;
  for (let step = 0; step < addressCount; step++) {
    const number = (start + step) % addressCount;
    const address = `${addressPrefix}${number >> 8}.${number & 255}`;
    if (!reservedAddresses.has(number) && !taken.has(address)) return address;
  }
  return undefined;
}

function freePort(seed: string, taken: Set<number>): number {
  const start = hashOf(seed) % portCount;
  for (let step = 0; step < portCount; step++) {
    const port = firstPort + ((start + step) % portCount);
    if (taken.has(port)) continue;
    taken.add(port);
    return port;
  }
  return 0;
}

/** Allocates the addresses and ports that a service needs and does not have. */
export function allocate(service: KubeObject, spec: Fields, context: StrategyContext): void {
  if (!needsAddress(spec)) return;
  const wantsAddress = textOf(spec['clusterIP']) === '' && textsOf(spec['clusterIPs']).length === 0;
  const ports = needsNodePorts(spec) && spec['allocateLoadBalancerNodePorts'] !== false ? itemsOf(spec['ports']) : [];
  const wantsHealthPort = needsHealthPort(spec) && numberOf(spec['healthCheckNodePort']) === 0;
  if (!wantsAddress && !wantsHealthPort && !ports.some((port) => numberOf(port['nodePort']) === 0)) return;

  const taken = takenByOthers(service, context);
  const seed = `${service.metadata.namespace}/${service.metadata.name}`;
  if (wantsAddress) {
    const address = freeAddress(seed, taken.addresses);
    if (address !== undefined) {
      spec['clusterIP'] = address;
      spec['clusterIPs'] = [address];
    }
  }
  const takenPorts = new Set(taken.ports);
  for (const port of itemsOf(spec['ports'])) takenPorts.add(numberOf(port['nodePort']));
  for (const port of ports) {
    if (numberOf(port['nodePort']) === 0)
      port['nodePort'] = freePort(`${seed}/${textOf(port['protocol'])}/${numberOf(port['port'])}`, takenPorts);
  }
  if (wantsHealthPort) spec['healthCheckNodePort'] = freePort(`${seed}/health`, takenPorts);
}

/** Keeps allocations that an update omits. */
export function keepAllocated(spec: Fields, old: Readonly<Fields>): void {
  if (needsAddress(old) && needsAddress(spec)) {
    if (textOf(spec['clusterIP']) === '') spec['clusterIP'] = old['clusterIP'];
    if (textsOf(spec['clusterIPs']).length === 0 && spec['clusterIP'] === old['clusterIP']) spec['clusterIPs'] = old['clusterIPs'];
    if (isAbsent(spec['ipFamilies'])) spec['ipFamilies'] = old['ipFamilies'];
    if (isAbsent(spec['ipFamilyPolicy'])) spec['ipFamilyPolicy'] = old['ipFamilyPolicy'];
  }
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec, old);
  if (needsHealthPort(old) && needsHealthPort(spec) && numberOf(spec['healthCheckNodePort']) === 0) {
    spec['healthCheckNodePort'] = old['healthCheckNodePort'];
  }
}

function portKey(port: Fields): string {
  return `${textOf(port['protocol'])}/${numberOf(port['port'])}`;
}

function keepNodePorts(spec: Readonly<Fields>, old: Readonly<Fields>): void {
  const used = new Set(itemsOf(spec['ports']).map((port) => numberOf(port['nodePort'])));
  const before = new Map(itemsOf(old['ports']).map((port) => [portKey(port), numberOf(port['nodePort'])]));
  for (const port of itemsOf(spec['ports'])) {
    const given = before.get(portKey(port));
    if (numberOf(port['nodePort']) !== 0 || given === undefined || given === 0 || used.has(given)) continue;
    port['nodePort'] = given;
    used.add(given);
  }
}

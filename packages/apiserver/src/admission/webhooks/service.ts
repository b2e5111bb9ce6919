import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { type Fields, fieldsOf, itemsOf, numberOf, textOf } from '@capstan/machinery';
import { CallFailure } from './failure.ts';
import type { Endpoint } from './hook.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

type ServiceEndpoint = Extract<Endpoint, { by: 'service' }>;

const services = { group: '', resource: 'services' };
const slices = { group: 'discovery.k8s.io', resource: 'endpointslices' };
const endpoints = { group: '', resource: 'endpoints' };

/** The current address of a service: one of its endpoints. The control plane runs no proxy, so the cluster IP is not reachable. */
export function addressOf(objects: ObjectReader, cluster: ClusterId, { namespace, name, port }: ServiceEndpoint): Address {
  const service = objects.get({ ...services, cluster, namespace, name });
  if (service === undefined) throw new CallFailure(`service "${name}" not found`);
  const spec = fieldsOf(service['spec']);
  if (spec['type'] === 'ExternalName') return { host: textOf(spec['externalName']), port };
  const servicePort = itemsOf(spec['ports']).find((candidate) => candidate['port'] === port);
  if (servicePort === undefined) throw new CallFailure(`no service port ${port} found for service "${name}"`);
  const ready = [
    ...sliceAddresses(objects, { cluster, namespace, name }, textOf(servicePort['name'])),
    ...endpointAddresses(objects, { cluster, namespace, name }, textOf(servicePort['name'])),
  ];
  const chosen = ready[Math.floor(Math.random() * ready.length)];
  if (chosen === undefined) throw new CallFailure(`no endpoints available for service "${name}"`);
  return chosen;
}

interface Place {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly name: string;
}

function sliceAddresses(objects: ObjectReader, { cluster, namespace, name }: Place, portName: string): Address[] {
  const found: Address[] = [];
  for (const slice of objects.list(slices, cluster, namespace)) {
    if (slice.metadata.labels?.['kubernetes.io/service-name'] !== name) continue;
    const port = portNamed(slice['ports'], portName);
    if (port === 0) continue;
    for (const endpoint of itemsOf(slice['endpoints'])) {
      const host = firstText(endpoint['addresses']);
      if (host !== '' && fieldsOf(endpoint['conditions'])['ready'] !== false) found.push({ host, port });
    }
  }
  return found;
}

/** Services that publish their own addresses often write only Endpoints. */
function endpointAddresses(objects: ObjectReader, { cluster, namespace, name }: Place, portName: string): Address[] {
  const object = objects.get({ ...endpoints, cluster, namespace, name });
  return itemsOf(object?.['subsets']).flatMap((subset) => {
    const port = portNamed(subset['ports'], portName);
    return port === 0 ? [] : itemsOf(subset['addresses']).map((address) => ({ host: textOf(address['ip']), port }));
  });
}

function portNamed(ports: unknown, name: string): number {
  return numberOf(itemsOf(ports).find((port: Fields) => textOf(port['name']) === name)?.['port']);
}

function firstText(value: unknown): string {
  return Array.isArray(value) ? textOf(value[0]) : '';
}

import { rootCluster, type StoredKind } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { addressOf } from './service.ts';

function reader(objects: Readonly<Record<string, readonly object[]>>): ObjectReader {
  const of = <T extends KubeObject>({ resource }: StoredKind<T>): T[] => (objects[resource] ?? []) as T[];
  return {
    get: (at) => of(at).find(({ metadata }) => metadata.name === at.name),
    list: of,
    generation: () => 0,
  };
}

const service = { metadata: { name: 'hook' }, spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 443 }] } };
const slice = {
  metadata: { name: 'hook-x', labels: { 'kubernetes.io/service-name': 'hook' } },
  ports: [{ name: 'https', port: 8443 }],
  endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false } }, { addresses: ['10.0.0.2'] }],
};
const endpoint = { by: 'service', namespace: 'n', name: 'hook', port: 443, path: '', authorities: undefined } as const;

describe('the address of a service', () => {
  it('is that of a ready endpoint, at the port with the same name', () => {
    expect(addressOf(reader({ services: [service], endpointslices: [slice] }), rootCluster, endpoint)).toEqual({
      host: '10.0.0.2',
      port: 8443,
    });
  });

  it('is also found in Endpoints', () => {
    const endpoints = {
      metadata: { name: 'hook' },
      subsets: [{ addresses: [{ ip: '10.0.0.3' }], ports: [{ name: 'https', port: 9443 }] }],
    };
    expect(addressOf(reader({ services: [service], endpoints: [endpoints] }), rootCluster, endpoint)).toEqual({
      host: '10.0.0.3',
      port: 9443,
    });
  });

  it.each([
    ['the service does not exist', {}, 443, 'service "hook" not found'],
    ['the service has no such port', { services: [service] }, 444, 'no service port 444 found for service "hook"'],
    ['the service has no endpoints', { services: [service] }, 443, 'no endpoints available for service "hook"'],
    [
      'no endpoint is ready',
      { services: [service], endpointslices: [{ ...slice, endpoints: slice.endpoints.slice(0, 1) }] },
      443,
      'no endpoints available for service "hook"',
    ],
  ])('is unknown when %s', (_, objects, port, message) => {
    expect(() => addressOf(reader(objects), rootCluster, { ...endpoint, port })).toThrow(message);
  });
});

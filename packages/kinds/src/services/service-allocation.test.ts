import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, numberOf } from '@capstan/machinery';
import { assert, constantFrom, property, string, uniqueArray } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';
import { isInAddressRange, isInPortRange } from './service-allocation.ts';

const strategy = workloadStrategies.get('/services')!;

type Stored = KubeObject & { resource: string };

function createAmong(others: readonly Stored[], name: string, spec: object): Stored {
  const service: Stored = {
    resource: 'services',
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'n' },
    spec: structuredClone(spec),
  };
  strategy.default!(service);
  strategy.prepareForCreate!(service, contextOf(others));
  return service;
}

describe('addresses and ports of services', () => {
  test('are in range, valid and unique', () => {
    assert(
      property(
        uniqueArray(string({ minLength: 1 }), { maxLength: 60 }),
        constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
        (names, type) => {
          const made: Stored[] = [];
          for (const name of names) {
            const service = createAmong(made, name, {
              type,
              ports: [
                { name: 'a', port: 1 },
                { name: 'b', port: 2 },
              ],
            });
            expect(strategy.validate!(service, contextOf(made))).toEqual([]);
            made.push(service);
          }
          const addresses = made.map((service) => fieldsOf(service['spec'])['clusterIP'] as string);
          expect(new Set(addresses).size).toBe(names.length);
          expect(addresses.every(isInAddressRange)).toBe(true);
          const ports = made.flatMap((service) => itemsOf(fieldsOf(service['spec'])['ports']).map((port) => numberOf(port['nodePort'])));
          if (type === 'ClusterIP') expect(ports.every((port) => port === 0)).toBe(true);
          else {
            expect(new Set(ports).size).toBe(ports.length);
            expect(ports.every(isInPortRange)).toBe(true);
          }
        },
      ),
    );
  });

  test('are the same whenever the same service is created', () => {
    const spec = { type: 'NodePort', ports: [{ port: 80 }] };
    expect(createAmong([], 'web', spec)).toEqual(createAmong([], 'web', spec));
  });

  test('cannot be taken from another service', () => {
    const other = createAmong([], 'first', { type: 'NodePort', clusterIP: '10.96.5.5', ports: [{ port: 1, nodePort: 30_500 }] });
    const thief = createAmong([other], 'second', { type: 'NodePort', clusterIP: '10.96.5.5', ports: [{ port: 1, nodePort: 30_500 }] });
    expect(strategy.validate!(thief, contextOf([other])).map((error) => `${error.field}: ${error.body}`)).toEqual([
      'spec.clusterIPs: Invalid value: ["10.96.5.5"]: failed to allocate IP 10.96.5.5: provided IP is already allocated',
      'spec.ports[0].nodePort: Invalid value: 30500: provided port is already allocated',
    ]);
  });

  test('cannot be changed by setting clusterIP alone', () => {
    const old = createAmong([], 'web', { clusterIP: 'None', ports: [{ port: 80 }] });
    const changed = { ...structuredClone(old), spec: { ...fieldsOf(old['spec']), clusterIP: '10.96.5.5' } };
    strategy.prepareForUpdate!(changed, old, contextOf([old]));
    expect(strategy.validateUpdate!(changed, old, contextOf([old])).map((error) => `${error.field}: ${error.body}`)).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["10.96.5.5"]: may not change once set',
    ]);
  });

  test('must be in range', () => {
    const service = createAmong([], 'far', { type: 'NodePort', ports: [{ port: 1, nodePort: 80 }] });
    expect(strategy.validate!(service, contextOf()).map((error) => `${error.field}: ${error.body}`)).toEqual([
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ]);
  });
});

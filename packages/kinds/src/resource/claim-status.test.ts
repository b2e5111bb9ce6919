import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

const strategy = workloadStrategies.get('resource.k8s.io/resourceclaims')!;
const spec = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 } }] } };
const device = { driver: 'd.example.com', pool: 'p', device: 'x' };
const allocation = { devices: { results: [{ request: 'gpu', ...device }] } };

function claimOf(status: object, metadata: object = {}): KubeObject {
  return { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata: { name: 'c', namespace: 'n', ...metadata }, spec, status };
}

function problems(claim: KubeObject, old: object = {}, labels: Record<string, string> = {}): string[] {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', resource: 'namespaces', metadata: { name: 'n', labels } };
  const errors = strategy.status!.validateUpdate!(claim, claimOf(old), contextOf([namespace]));
  return errors.map(({ field, body }) => `${field}: ${body}`);
}

describe('the status of a claim', () => {
  test('accepts consumers, an allocation and device reports', () => {
    const reservedFor = [{ resource: 'pods', name: 'p', uid: 'u' }];
    const networkData = { interfaceName: 'eth0', hardwareAddress: '00:11', ips: ['10.9.8.7/24', '2001:db8::1/64'] };
    expect(problems(claimOf({ reservedFor, allocation, devices: [{ ...device, data: { a: 1 }, networkData }] }))).toEqual([]);
  });

  test('rejects incomplete and duplicate consumers, and consumers without an allocation', () => {
    expect(
      problems(
        claimOf({
          reservedFor: [
            { resource: 'pods', uid: 'u' },
            { name: 'q', resource: 'pods', uid: 'u' },
          ],
        }),
      ),
    ).toEqual([
      'status.reservedFor[0].name: Required value',
      'status.reservedFor[1].uid: Duplicate value: "u"',
      'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
    ]);
  });

  test('rejects new consumers while the claim is being deleted', () => {
    const [kept, added] = ['u', 'v'].map((uid) => ({ resource: 'pods', name: 'p', uid }));
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const before = { allocation, reservedFor: [kept] };
    expect(problems(claimOf(before, { deletionTimestamp }), before)).toEqual([]);
    expect(problems(claimOf({ allocation, reservedFor: [kept, added] }, { deletionTimestamp }), before)).toEqual([
      'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    ]);
  });

  test('validates reports about allocated devices', () => {
    const shown = '{"Driver":{},"Pool":{},"Device":{},"ShareID":{}}';
    const networkData = { ips: ['10.0.0.1', '2001:DB8::1/64'] };
    expect(problems(claimOf({ allocation, devices: [{ ...device, device: 'y' }, { ...device, data: [], networkData }, device] }))).toEqual([
      `status.devices[0]: Invalid value: ${shown}: must be an allocated device in the claim`,
      'status.devices[1].data: Invalid value: "<value omitted>": must be a valid JSON object',
      'status.devices[1].networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
      'status.devices[1].networkData.ips[1]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
      `status.devices[2].deviceID: Duplicate value: ${shown}`,
    ]);
  });

  test('allocates only for requests of the claim', () => {
    const config = [{ source: 'x', requests: ['gpu', 'gpu'], opaque: { driver: 'd', parameters: {} } }];
    const results = [{ ...device, pool: '', request: 'none' }];
    expect(problems(claimOf({ allocation: { devices: { results, config } } }))).toEqual([
      `status.allocation.devices.results[0].request: Invalid value: "none": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
      'status.allocation.devices.results[0].pool: Required value',
      'status.allocation.devices.config[0].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"',
      'status.allocation.devices.config[0].requests[1]: Duplicate value: "gpu"',
    ]);
  });

  test('keeps an allocation immutable until it is removed', () => {
    const other = { devices: { results: [] } };
    expect(problems(claimOf({ allocation: other }), { allocation })).toEqual([
      'status.allocation: Invalid value: {"Devices":{"Results":[],"Config":null},"NodeSelector":null,"AllocationTimestamp":null}: field is immutable',
    ]);
    expect(problems(claimOf({}), { allocation })).toEqual([]);
  });

  test('allows admin access only in namespaces labeled for it', () => {
    const claim = claimOf({ allocation: { devices: { results: [{ request: 'gpu', ...device, adminAccess: true }] } } });
    expect(problems(claim)).toEqual([
      'status.allocation.devices.results[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace',
    ]);
    expect(problems(claim, {}, { 'resource.kubernetes.io/admin-access': 'true' })).toEqual([]);
  });

  test('drops reports about devices that are no longer allocated', () => {
    const claim = claimOf({ devices: [device] });
    strategy.status!.prepareForUpdate!(claim, claimOf({ allocation, devices: [device] }), contextOf());
    expect(claim['status']).toEqual({});
  });
});

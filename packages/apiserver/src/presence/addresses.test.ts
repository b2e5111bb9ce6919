import { describe, expect, test } from 'vitest';
import { addressesOf } from './addresses.ts';
import { defaultInterface, type Machine } from './machine.ts';

const loopback = { address: '127.0.0.1', family: 'IPv4', internal: true } as const;
const linkLocal = { address: 'fe80::1', family: 'IPv6', internal: false } as const;
const wide = { address: '2001:db8::7', family: 'IPv6', internal: false } as const;
const outer = { address: '192.0.2.7', family: 'IPv4', internal: false } as const;
const bridge = { address: '198.51.100.1', family: 'IPv4', internal: false } as const;
const machine: Machine = {
  hostname: 'server-1',
  interfaces: { lo: [loopback], bridge0: [bridge], eth0: [linkLocal, wide, outer] },
  defaultInterface: 'eth0',
};
const without = (interfaces: Machine['interfaces']): Machine => ({ ...machine, interfaces, defaultInterface: undefined });

describe('the address for clients', () => {
  test.each([
    ['127.0.0.1', machine, 'https://127.0.0.1:6443'],
    ['192.0.2.9', machine, 'https://192.0.2.9:6443'],
    ['0.0.0.0', machine, 'https://192.0.2.7:6443'],
    ['::', machine, 'https://192.0.2.7:6443'],
    ['0.0.0.0', without(machine.interfaces), 'https://198.51.100.1:6443'],
    ['::', without({ lo: [loopback], eth0: [linkLocal, wide] }), 'https://[2001:db8::7]:6443'],
    ['0.0.0.0', without({ lo: [loopback], eth0: [linkLocal, wide] }), 'https://127.0.0.1:6443'],
    ['0.0.0.0', without({}), 'https://127.0.0.1:6443'],
    ['api.example.com', machine, 'https://api.example.com:6443'],
  ])('of a server on %s', (host, on, url) => {
    expect(addressesOf({ host, port: 6443 }, on).url).toBe(url);
  });

  test.each([
    [{ host: 'api.example.com' }, 'https://api.example.com:6443'],
    [{ host: 'api.example.com', port: 443 }, 'https://api.example.com'],
    [{ host: '2001:db8::1', port: 7443 }, 'https://[2001:db8::1]:7443'],
  ])('is the advertised one if there is one: %j', (advertise, url) => {
    expect(addressesOf({ host: '0.0.0.0', port: 6443, advertise }, machine).url).toBe(url);
  });
});

test.each([
  ['0.0.0.0', 'https://127.0.0.1:6443'],
  ['::', 'https://[::1]:6443'],
  ['192.0.2.9', 'https://192.0.2.9:6443'],
])('processes on the same machine as a server on %s use %s, whatever it advertises', (host, url) => {
  expect(addressesOf({ host, port: 6443, advertise: { host: 'lb.example.com', port: 443 } }, machine).localUrl).toBe(url);
});

test.each([
  ['0.0.0.0', undefined, { address: '192.0.2.7', port: 6443 }],
  ['0.0.0.0', { host: 'lb.example.com', port: 443 }, { address: '192.0.2.7', port: 6443 }],
  ['0.0.0.0', { host: '203.0.113.4', port: 443 }, { address: '203.0.113.4', port: 443 }],
  ['api.example.com', undefined, undefined],
])('the endpoint of a server on %s that advertises %j is %j', (host, advertise, endpoint) => {
  expect(addressesOf({ host, port: 6443, advertise }, machine).endpoint).toEqual(endpoint);
});

test.each([
  ['127.0.0.1', { required: ['127.0.0.1'], found: [] }],
  ['192.0.2.9', { required: ['192.0.2.9'], found: [] }],
  ['0.0.0.0', { required: [], found: ['server-1', '198.51.100.1', '2001:db8::7', '192.0.2.7'] }],
])('the certificate of a server on %s covers %j', (host, names) => {
  expect(addressesOf({ host, port: 6443 }, machine).certificateNames).toEqual(names);
});

test('the certificate covers additional names and the advertised one', () => {
  const options = { host: '0.0.0.0', port: 6443, advertise: { host: 'lb.example.com' }, names: ['other.example.com'] };
  expect(addressesOf(options, machine).certificateNames.required).toEqual(['other.example.com', 'lb.example.com']);
});

test('picks the default route with the lowest metric', () => {
  const table = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0
`;
  expect(defaultInterface(table)).toBe('eth0');
  expect(defaultInterface('')).toBeUndefined();
});

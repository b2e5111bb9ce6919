import { expect, test } from 'vitest';
import { advertisedAddress } from './advertised.ts';

const loopback = { address: '127.0.0.1', family: 'IPv4', internal: true } as const;
const inner = { address: 'fe80::1', family: 'IPv6', internal: false } as const;
const wide = { address: '2001:db8::7', family: 'IPv6', internal: false } as const;
const machine = { address: '192.0.2.7', family: 'IPv4', internal: false } as const;
const all = { lo: [loopback], eth0: [inner, wide, machine] };

test.each([
  ['192.0.2.9', all, '192.0.2.9'],
  ['127.0.0.1', all, '127.0.0.1'],
  ['0.0.0.0', all, '192.0.2.7'],
  ['::', all, '192.0.2.7'],
  ['::', { lo: [loopback], eth0: [inner, wide] }, '2001:db8::7'],
  ['0.0.0.0', { lo: [loopback], eth0: [inner, wide] }, '127.0.0.1'],
  ['0.0.0.0', {}, '127.0.0.1'],
  ['api.example.com', all, undefined],
])('a server on %s with %j is found at %s', (host, interfaces, address) => {
  expect(advertisedAddress(host, interfaces)).toBe(address);
});

import { expect, test } from 'vitest';
import { formatAdvertise, parseAdvertise } from './advertise.ts';

test.each([
  ['api.example.com', { host: 'api.example.com' }],
  ['api.example.com:443', { host: 'api.example.com', port: 443 }],
  ['https://api.example.com:7443/', { host: 'api.example.com', port: 7443 }],
  ['192.0.2.1', { host: '192.0.2.1' }],
  ['2001:db8::1', { host: '2001:db8::1' }],
  ['[2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
  ['', undefined],
  ['http://api.example.com', undefined],
  ['api.example.com/path', undefined],
  ['api.example.com:0', undefined],
  ['api.example.com:70000', undefined],
  ['[api]:443', undefined],
  ['user@api.example.com', undefined],
])('%j advertises %j', (text, parsed) => {
  expect(parseAdvertise(text)).toEqual(parsed);
  if (parsed !== undefined) expect(parseAdvertise(formatAdvertise(parsed))).toEqual(parsed);
});

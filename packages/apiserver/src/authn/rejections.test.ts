import { beforeEach, expect, it } from 'vitest';
import { Rejections } from './rejections.ts';
import { Unauthenticated } from './user.ts';

let log: string[];
let time: number;
let rejections: Rejections;
beforeEach(() => {
  log = [];
  time = 0;
  rejections = new Rejections({ log: (line) => log.push(line), now: () => time });
});

const foreign = new Unauthenticated('invalid signature, no keys found', { fault: 'unknown-key' });
const reason = 'signed by an unknown key, such as that of another installation';

it('logs the first rejection at once, then how many followed', () => {
  for (time = 0; time < 60_000; time += 100) rejections.add(foreign, time < 50_000 ? '10.0.0.1' : '10.0.0.2');
  rejections.add(foreign, '10.0.0.1');
  rejections.add(foreign, '10.0.0.1');
  time = 130_000;
  rejections.settle();
  rejections.settle();
  expect(log).toEqual([
    `rejected a token from 10.0.0.1: ${reason}`,
    `rejected 600 more tokens within 60s, from 10.0.0.1 and 1 other address: ${reason}`,
    `rejected 1 more token within 0s, from 10.0.0.1: ${reason}; none since`,
  ]);
});

it('logs a single rejection in one line', () => {
  rejections.add(new Unauthenticated('service account token has expired', { fault: 'expired' }), '10.0.0.1');
  time = 61_000;
  rejections.settle();
  rejections.add(new Unauthenticated('no', { fault: 'certificate' }), '10.0.0.1');
  expect(log).toEqual([
    'rejected a token from 10.0.0.1: expired',
    'rejected a client certificate from 10.0.0.1: expired, or not meant for clients',
  ]);
});

it('logs a few lines per reason for a flood from many addresses, and nothing from the tokens', () => {
  const faults = ['unknown-key', 'unknown-issuer', 'unknown-token', 'expired', 'other'] as const;
  for (time = 0; time < 600_000; time += 50)
    rejections.add(new Unauthenticated('secret-token', { fault: faults[(time / 50) % 5]! }), `host-${(time / 50) % 1000}`);
  expect(log.length).toBeLessThanOrEqual(5 * 4);
  expect(log.at(-1)).toContain('at least 99 other addresses');
  expect(log.join()).not.toContain('secret-token');
});

import { expect, test } from 'vitest';
import { Links } from './links.ts';

const credential = { token: 'secret' };

test('a code is good for one use', () => {
  const links = new Links();
  const { code } = links.create(credential)!;
  expect(links.redeem(code)).toEqual(credential);
  expect(links.redeem(code)).toBeUndefined();
});

test('a code is good for ten minutes', () => {
  let time = 0;
  const links = new Links(() => time);
  const [first, second] = [links.create(credential)!, links.create(credential)!];
  time = 599_999;
  expect(links.redeem(first.code)).toEqual(credential);
  time = 600_000;
  expect(links.redeem(second.code)).toBeUndefined();
});

test('guesses find nothing', () => {
  const links = new Links();
  links.create(credential);
  for (const guess of ['', 'x', 'A'.repeat(43), 'constructor']) expect(links.redeem(guess)).toBeUndefined();
});

test('only so many codes wait at a time, and old ones make room', () => {
  let time = 0;
  const links = new Links(() => time);
  let made = 0;
  while (links.create(credential) !== undefined) made++;
  expect(made).toBe(1_000);
  time = 600_000;
  expect(links.create(credential)).toBeDefined();
});

import { expect, test } from 'vitest';
import { placementOf, settingsOf } from './settings.ts';

test('has useful settings if nobody says otherwise', () => {
  expect(settingsOf({ parameters: {} })).toEqual({
    partition: 'gpu',
    users: [],
    hasAccounting: false,
    isConfined: true,
    drainTimeout: '1h',
  });
});

test('refuses an allocation with two members', () => {
  const placement = { controller_allocation_id: 'a', compute_allocation_ids: ['b', 'c'], login_allocation_id: 'b' };
  expect(() => placementOf({ placement })).toThrow('the allocation b is named twice');
});

test.each([
  ['UserNamedTwice', { name: 'ann', uid: 1002 }],
  ['UidUsedTwice', { name: 'bob', uid: 1001 }],
])('refuses users with %s', (code, second) => {
  expect(() => settingsOf({ parameters: { users: [{ name: 'ann', uid: 1001 }, second] } })).toThrow(expect.objectContaining({ code }));
});

import { expect, test } from 'vitest';
import { bindingFor, membersOf } from './members.ts';

test('every subject of a binding is a member', () => {
  const binding = {
    ...bindingFor({ kind: 'User', name: 'ada', role: 'user' }),
    metadata: { name: 'users' },
    subjects: [
      { kind: 'User', name: 'ben' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
    ],
  };
  expect(membersOf([binding])).toEqual([
    { id: 'users 0', kind: 'User', name: 'ben', role: 'user', binding: 'users', others: 1 },
    { id: 'users 1', kind: 'Service account', name: 'default/robot', role: 'user', binding: 'users', others: 1 },
  ]);
});

test('a binding without subjects has no members', () => {
  const { subjects: _, ...rest } = bindingFor({ kind: 'Group', name: 'a', role: 'viewer' });
  expect(membersOf([rest])).toEqual([]);
});

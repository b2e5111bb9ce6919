import { expect, test } from 'vitest';
import { bindingFor, bindingWithout, membersOf, subjectOf } from './members.ts';

const ben = { kind: 'User', name: 'ben' };
const robot = { kind: 'ServiceAccount', name: 'robot', namespace: 'default' };
const users = { ...bindingFor(subjectOf('User', 'ada'), 'user'), metadata: { name: 'users' }, subjects: [ben, robot] };

test('every subject of a binding is a member', () => {
  expect(membersOf([users])).toEqual([
    { id: 'users 0', kind: 'User', name: 'ben', subject: ben, role: 'user', binding: 'users' },
    { id: 'users 1', kind: 'Service account', name: 'default/robot', subject: robot, role: 'user', binding: 'users' },
  ]);
});

test('a binding without subjects has no members', () => {
  const { subjects: _, ...rest } = bindingFor(subjectOf('Group', 'a'), 'viewer');
  expect(membersOf([rest])).toEqual([]);
});

test('a member leaves a binding, and the others stay', () => {
  expect(bindingWithout(users, ben)).toEqual({ ...users, subjects: [robot] });
  expect(bindingWithout(users, { ...robot, namespace: 'other' })).toEqual(users);
  expect(bindingWithout({ ...users, subjects: [ben] }, ben)).toBeUndefined();
});

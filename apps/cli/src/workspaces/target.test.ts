import { expect, test } from 'vitest';
import { pathFrom } from './target.ts';

test.each([
  ['root:main', 'default', 'root:main:default'],
  ['root:main', 'a:b', 'root:main:a:b'],
  ['root:main', '..', 'root'],
  ['root', '..', 'root'],
  ['root:main:default', '..:other', 'root:main:other'],
  ['root:main', '.', 'root:main'],
  ['root:main', ':root:x', 'root:x'],
  ['root:main', 'root:x', 'root:x'],
  ['root:main', 'root', 'root'],
])('resolves, from %s, %s to %s', (current, target, expected) => {
  expect(pathFrom(current, target)).toBe(expected);
});

test.each(['/home/somebody', 'a b', 'a::b', '*', 'A'])('rejects %s', (target) => {
  expect(() => pathFrom('root', target)).toThrow('is not a workspace path');
});

import { expect, test } from 'vitest';
import { ancestorsOf, plainPagePath } from './path.ts';

test.each([
  ['/w/root%3Amain%3adefault/units', '/w/root:main:default/units'],
  ['/w/root:main/units', '/w/root:main/units'],
  ['/w/root%3Amain/api/core/v1/events/default/a%3Ab', '/w/root:main/api/core/v1/events/default/a%3Ab'],
  ['/sign-in', '/sign-in'],
])('the plain path of %s is %s', (path, plain) => expect(plainPagePath(path)).toBe(plain));

test('the workspaces above begin at the top', () => expect(ancestorsOf('root:main:default')).toEqual(['root', 'root:main']));

import { describe, expect, it } from 'vitest';
import { FieldPath, pathWithin } from './path.ts';

describe('a path', () => {
  it('is printed as in Kubernetes', () => {
    expect(FieldPath.of('spec').child('list', 'of').index(2).key('a b').toString()).toBe('spec.list.of[2][a b]');
    expect(FieldPath.of().child('a').toString()).toBe('a');
    expect(pathWithin(['a', 0, 'b', 'c'])).toBe('a[0].b.c');
    expect(pathWithin([])).toBe('');
  });

  it('is short, however long the keys are and however deep the value', () => {
    const long = 'x'.repeat(1_000_000);
    let path = FieldPath.of('spec');
    for (let depth = 0; depth < 500; depth++) path = path.child(long).key(long).index(depth);
    expect(path.toString().length).toBeLessThan(6_000);
    expect(FieldPath.of('spec').child(long).index(7).toString()).toMatch(/x… \(998976 more characters\)\[7\]$/);
    expect(pathWithin(Array.from({ length: 500 }, () => long)).length).toBeLessThan(6_000);
  });
});

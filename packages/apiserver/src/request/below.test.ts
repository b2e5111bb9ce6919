import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { staysBelow } from './below.ts';

describe('a path below another', () => {
  it.each(['/..', '/a/../b', '/./a', '/%2e%2e/a', '/a%2f..%2f..', '/..%5ca', '/a\\..', '/%2E%2E', '/%', '/a#b'])(
    'is rejected if it leaves it: %s',
    (path) => {
      expect(staysBelow(path)).toBe(false);
    },
  );

  it('never leaves it, however it is decoded', () => {
    const piece = fc.constantFrom('..', '.', '%2e', '%2E%2e', '/', '%2f', '\\', '%5c', 'a', 'api', '...');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = `/${pieces.join('')}`;
        if (!staysBelow(path)) return;
        for (const read of [path, path.replaceAll('%5c', '\\'), path.replaceAll('%2f', '/'), decodeURIComponent(path)])
          expect(new URL(`http://x/top/clusters/a${read}`).pathname.startsWith('/top/clusters/a')).toBe(true);
      }),
    );
  });

  it('may have names with dots', () => {
    expect(['/apis/x.example/v1/a..b', '/...', '', '/a/'].map(staysBelow)).toEqual([true, true, true, true]);
  });
});

import { describe, expect, test } from 'vitest';
import { inVolume } from './files.ts';
import { specOf } from './volumes.ts';

describe('a path in a volume', () => {
  test.each([
    ['/', '/volume/'],
    ['.', '/volume/'],
    ['a/b', '/volume/a/b'],
    ['/a/', '/volume/a/'],
    ['../../etc/passwd', '/volume/etc/passwd'],
    ['/a/../../../etc', '/volume/etc'],
  ])('%s is %s for the unit that reads it', (path, inside) => {
    expect(inVolume(path)).toBe(inside);
  });
});

describe('the flags of a volume', () => {
  test('describe its spec', () => {
    const sha256 = 'a'.repeat(64);
    expect(specOf({ size: '1Gi' })).toEqual({ size: '1Gi' });
    expect(specOf({ size: '1Gi', node: 'n1', copyOf: 'other', retain: true })).toEqual({
      size: '1Gi',
      node: 'n1',
      prepare: { storage: { name: 'other' } },
      deletionPolicy: 'Retain',
    });
    expect(specOf({ size: '1Gi', image: 'busybox' })).toEqual({ size: '1Gi', prepare: { image: 'busybox' } });
    expect(specOf({ size: '1Gi', snapshot: 'data-1' })).toEqual({ size: '1Gi', prepare: { snapshot: { name: 'data-1' } } });
    expect(specOf({ size: '1Gi', url: 'https://example.com/a.tar.gz', sha256, unpack: 'tar-gzip' })).toEqual({
      size: '1Gi',
      prepare: { url: { url: 'https://example.com/a.tar.gz', sha256, unpack: 'TarGzip' } },
    });
  });

  test('are refused if they contradict each other', () => {
    expect(() => specOf({ size: '1Gi', url: 'https://example.com' })).toThrow('--url and --sha256 belong together');
    expect(() => specOf({ size: '1Gi', url: 'https://example.com', sha256: 'a', copyOf: 'b' })).toThrow(
      'give one of --copy-of, --snapshot, --url and --image',
    );
  });
});

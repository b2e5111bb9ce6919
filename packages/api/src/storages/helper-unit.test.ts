import { describe, expect, test } from 'vitest';
import { storageHelper } from './helper-unit.ts';

const options = { namespace: 'default', id: 'a1b2c3', readOnly: false, maxDuration: '1h' };

describe('the helper of a storage', () => {
  test('mounts it, ends by itself, and has no network', () => {
    const { metadata, spec } = storageHelper('data', options);
    expect(metadata).toEqual({ name: 'volume-data-a1b2c3', namespace: 'default' });
    expect(spec).toMatchObject({ mounts: [{ storage: 'data', path: '/volume', readOnly: false }], maxDuration: '1h', network: 'None' });
  });

  test('has a name that fits', () => {
    const storage = `${'x'.repeat(39)}-${'y'.repeat(20)}`;
    expect(storageHelper(storage, options).metadata.name).toBe(`volume-${'x'.repeat(39)}-a1b2c3`);
  });

  test('goes to a node of the offering if one is given', () => {
    expect(storageHelper('data', options).spec).toMatchObject({ resources: { cpu: '100m' } });
    const { offering, resources } = storageHelper('data', { ...options, offering: 'large' }).spec;
    expect([offering, resources]).toEqual(['large', undefined]);
  });
});

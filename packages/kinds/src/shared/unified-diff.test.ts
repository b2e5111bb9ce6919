import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { goForm, goPodSpec } from './go-form.ts';
import { changesBetween } from './unified-diff.ts';

describe('changesBetween', () => {
  test('shows changes with three lines of context', () => {
    const before = { a: 1, b: 2, c: 3, d: 4, e: [5], f: '<' };
    expect(changesBetween(before, { ...before, e: [6] })).toBe(
      '@@ -4,7 +4,7 @@\n  "c": 3,\n  "d": 4,\n  "e": [\n-  5\n+  6\n  ],\n  "f": "\\u003c"\n }\n',
    );
  });

  test('is empty for equal values, and otherwise turns one value into the other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
        (a, b) => {
          const changes = changesBetween(a, b).split('\n');
          const count = (mark: string): number => changes.filter((line) => line.startsWith(mark) && !line.startsWith('@@')).length;
          const lines = (value: unknown): number => JSON.stringify(value, null, 1).split('\n').length;
          expect(count('+') - count('-')).toBe(lines(b) - lines(a));
          if (JSON.stringify(a) === JSON.stringify(b)) expect(changes).toEqual(['']);
        },
      ),
    );
  });
});

describe('the Go form', () => {
  test('has the names, the order and the unset fields of Go', () => {
    expect(JSON.stringify(goForm('PersistentVolumeClaimSpec', { volumeName: 'v', resources: { requests: { storage: '1024Mi' } } }))).toBe(
      '{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":{"storage":"1Gi"}},"VolumeName":"v","StorageClassName":null,"VolumeMode":null,"DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null}',
    );
  });

  test('merges a volume with its source, and moves host settings to the security context', () => {
    const { Volumes, SecurityContext } = goPodSpec({ hostNetwork: true, volumes: [{ name: 'v', emptyDir: {} }] });
    expect(Volumes).toMatchObject([{ Name: 'v', HostPath: null, EmptyDir: { Medium: '', SizeLimit: null } }]);
    expect(SecurityContext).toMatchObject({ HostNetwork: true, HostPID: false, ShareProcessNamespace: null });
  });
});

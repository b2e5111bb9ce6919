import type { KubeObject } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { isUnchanged } from './unchanged.ts';

const at = (time: string, parts: { value?: string; field?: string } = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'a',
    managedFields: [
      {
        manager: 'm',
        operation: 'Apply',
        apiVersion: 'v1',
        time,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [parts.field ?? 'f:key']: {} } },
      },
    ],
  },
  data: { key: parts.value ?? 'value' },
});
const early = '2026-01-01T00:00:00Z';
const late = '2026-01-01T00:00:01Z';

describe('an object is unchanged', () => {
  it('if it is equal', () => {
    expect(isUnchanged(at(early), at(early))).toBe(true);
  });

  it('if only the times of its managers differ, and keeps the old times', () => {
    const object = at(late);
    expect(isUnchanged(object, at(early))).toBe(true);
    expect(object).toEqual(at(early));
  });

  it('but not if a value or the fields of a manager differ', () => {
    expect(isUnchanged(at(early, { value: 'other' }), at(early))).toBe(false);
    expect(isUnchanged(at(late, { value: 'other' }), at(early))).toBe(false);
    expect(isUnchanged(at(late, { field: 'f:other' }), at(early))).toBe(false);
  });
});

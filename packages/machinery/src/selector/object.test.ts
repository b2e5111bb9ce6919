import { describe, expect, it } from 'vitest';
import { FieldPath } from '../field/path.ts';
import { selectorOfObject, validateLabelSelector } from './object.ts';

describe('a label selector inside an object', () => {
  it('selects nothing if absent, and everything if empty', () => {
    expect(selectorOfObject(undefined).matches({ a: 'b' })).toBe(false);
    expect(selectorOfObject({}).matches(undefined)).toBe(true);
  });

  it('requires all of its labels and expressions', () => {
    const selector = selectorOfObject({
      matchLabels: { a: 'b' },
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['d', 'e'] },
        { key: 'f', operator: 'DoesNotExist' },
        { key: 'g', operator: 'Exists' },
        { key: 'h', operator: 'NotIn', values: ['i'] },
      ],
    });
    expect(selector.toString()).toBe('a=b,c in (d,e),!f,g,h notin (i)');
    expect(selector.matches({ a: 'b', c: 'e', g: '' })).toBe(true);
    expect(selector.matches({ a: 'b', c: 'e', g: '', h: 'i' })).toBe(false);
  });

  it('selects nothing with an unknown operator', () => {
    expect(selectorOfObject({ matchExpressions: [{ key: 'a', operator: 'Near' }] }).matches({ a: 'b' })).toBe(false);
  });

  it('is validated field by field', () => {
    const errors = validateLabelSelector(
      {
        matchLabels: { a: 'b c' },
        matchExpressions: [
          { key: 'x', operator: 'In' },
          { key: 'y', operator: 'Exists', values: ['z'] },
          { key: '', operator: 'Near', values: ['!'] },
        ],
      },
      FieldPath.of('spec', 'selector'),
    );
    expect(errors.map(({ field, type }) => `${field} ${type}`)).toEqual([
      'spec.selector.matchLabels FieldValueInvalid',
      'spec.selector.matchExpressions[0].values FieldValueRequired',
      'spec.selector.matchExpressions[1].values FieldValueForbidden',
      'spec.selector.matchExpressions[2].operator FieldValueInvalid',
      'spec.selector.matchExpressions[2].key FieldValueInvalid',
      'spec.selector.matchExpressions[2].key FieldValueInvalid',
      'spec.selector.matchExpressions[2].values[0] FieldValueInvalid',
    ]);
    const stored = { matchExpressions: [{ key: 'x', operator: 'In', values: ['!'] }] };
    expect(validateLabelSelector(stored, FieldPath.of('s'), { allowInvalidValues: true })).toEqual([]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkFieldLabels, escapeFieldValue, parseFieldSelector } from './field.ts';

const pod = new Map([
  ['metadata.name', 'a'],
  ['status.phase', 'Running'],
]);
const read = (field: string): string => pod.get(field) ?? '';

describe('field selectors', () => {
  it.each([
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name==a,status.phase!=Failed', true],
    ['metadata.name!=a', false],
    ['spec.nodeName=', true],
    ['metadata.name=a,', true],
    ['=', true],
  ])('%j matches: %s', (text, expected) => {
    expect(parseFieldSelector(text).matches(read)).toBe(expected);
  });

  it.each([
    ['nope', `invalid selector: 'nope'; can't understand 'nope'`],
    ['metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
    ['metadata.name=a\\b', 'invalid field selector: invalid escape sequence: \\b'],
    ['metadata.name=a\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('rejects %j', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ message, code: 400 }));
  });

  it('knows the value that a field must have', () => {
    const selector = parseFieldSelector('metadata.name=a,metadata.namespace!=b');
    expect(selector.exact('metadata.name')).toBe('a');
    expect(selector.exact('metadata.namespace')).toBeUndefined();
  });

  it('rejects fields that the kind does not support', () => {
    const check =
      (text: string, own: string[] | undefined, namespaced = true) =>
      () =>
        checkFieldLabels(parseFieldSelector(text), { own, namespaced });
    expect(check('metadata.name=a,metadata.namespace=b', undefined, false)).not.toThrow();
    expect(check('type=Opaque', ['type'])).not.toThrow();
    expect(check('data.a=1', undefined)).toThrow('"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"');
    expect(check('nope=1', ['type'])).toThrow('field label not supported: nope');
    expect(check('metadata.namespace=x', ['status.phase'], false)).toThrow('field label not supported: metadata.namespace');
  });

  it.each([
    ['Job', 'field label "x" not supported for Job'],
    ['ResourceSlice', 'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x'],
    ['Pod', 'field label not supported: x'],
  ])('is rejected for a %s with its own message', (kind, message) => {
    expect(() => checkFieldLabels(parseFieldSelector('x=1'), { own: [], namespaced: true, kind })).toThrow(message);
  });

  it('has a bounded number of terms', () => {
    expect(() => parseFieldSelector('a=b,'.repeat(300))).toThrow('at most 256 are allowed');
  });

  it('round-trips through its printed form', () => {
    const term = fc.record({
      field: fc.constantFrom('a', 'b.c'),
      operator: fc.constantFrom('=', '!='),
      value: fc.string({ minLength: 1 }),
    });
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
        const selector = parseFieldSelector(terms.map((each) => each.field + each.operator + escapeFieldValue(each.value)).join(','));
        expect(selector.requirements).toHaveLength(terms.length);
        for (const each of terms) expect(selector.requirements).toContainEqual(each);
        expect(parseFieldSelector(selector.toString()).requirements).toHaveLength(terms.length);
      }),
    );
  });
});

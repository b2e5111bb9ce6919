import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  annotationKey,
  configMapKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValue,
  pathSegment,
  portName,
  portNumber,
  qualifiedName,
  wildcardDns1123Subdomain,
} from './names.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const key = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const nameText = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'z', 'A', '0', '9', '-', '.', '_', '/', 'é', ' ', '*'), maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('a', '-', '.'), minLength: 60, maxLength: 66 }),
);

describe('names', () => {
  it.each([
    ['dns1123Subdomain', dns1123Subdomain, subdomain, 253],
    ['dns1123Label', dns1123Label, label, 63],
    ['dns1035Label', dns1035Label, '[a-z]([-a-z0-9]*[a-z0-9])?', 63],
    ['labelValue', labelValue, `(${key})?`, 63],
    ['wildcardDns1123Subdomain', wildcardDns1123Subdomain, `\\*\\.${subdomain}`, 253],
  ] as const)('%s accepts exactly the texts that its pattern and length limit allow', (_name, check, pattern, limit) => {
    const expected = new RegExp(`^(${pattern})$`);
    fc.assert(
      fc.property(nameText, (text) => {
        expect(check(text).length === 0).toBe(expected.test(text) && Buffer.byteLength(text) <= limit);
      }),
    );
  });

  it('qualified names are a key with an optional domain', () => {
    const expected = new RegExp(`^(${subdomain}/)?${key}$`);
    fc.assert(
      fc.property(nameText, (text) => {
        const fits = text.slice(text.indexOf('/') + 1).length <= 63;
        expect(qualifiedName(text).length === 0).toBe(expected.test(text) && fits);
      }),
    );
  });

  it.each([
    ['a.b', dns1123Label, ['must not contain dots']],
    ['x'.repeat(64), dns1123Label, ['must be no more than 63 characters']],
    ['x'.repeat(254), dns1123Subdomain, ['must be no more than 253 characters']],
    ['/a', qualifiedName, ['prefix part must be non-empty']],
    ['a/', qualifiedName, ['name part must be non-empty', expect.stringContaining('name part must consist of')]],
    ['a/b/c', qualifiedName, [expect.stringMatching(/^a qualified name must consist .* with an optional DNS subdomain prefix and '\/'/)]],
    ['A.b/c', qualifiedName, [expect.stringMatching(/^prefix part a lowercase RFC 1123 subdomain/)]],
    ['é'.repeat(40), labelValue, ['must be no more than 63 characters', expect.stringContaining('a valid label must be')]],
    ['..', configMapKey, ["must not be '..'"]],
    ['..a', configMapKey, ["must not start with '..'"]],
    ['.', pathSegment, ["may not be '.'"]],
    ['a/b%c', pathSegment, ["may not contain '/'", "may not contain '%'"]],
    ['-a--b-c-d-e-f-g', portName, ['must not contain consecutive hyphens', 'must not begin or end with a hyphen']],
    ['80', portName, ['must contain at least one letter (a-z)']],
  ] as const)('reports the errors in %j', (text, check, messages) => {
    expect((check as (value: string) => string[])(text)).toEqual(messages);
  });

  it('shows the pattern and examples as Kubernetes does', () => {
    expect(dns1123Subdomain('BAD_NAME')).toEqual([
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ]);
    expect(labelValue('bad value!')[0]).toContain("(e.g. 'MyValue',  or 'my_value',  or '12345', regex used");
  });

  it('a prefix may end in a dash', () => {
    expect(dns1123Subdomain('gen-', true)).toEqual([]);
    expect(dns1123Label('gen-', true)).toEqual([]);
    expect(dns1123Label('gen-', false)).toHaveLength(1);
    expect(dns1123Subdomain('-', true)).toHaveLength(1);
    expect(pathSegment('..', true)).toEqual([]);
  });

  it('annotation keys may have upper case in their domain', () => {
    expect(annotationKey('Example.COM/Key')).toEqual([]);
    expect(annotationKey('bad key')).toHaveLength(1);
  });

  it.each([
    [0, false],
    [1, true],
    [65535, true],
    [65536, false],
  ])('port %i is valid: %s', (port, valid) => {
    expect(portNumber(port)).toEqual(valid ? [] : ['must be between 1 and 65535, inclusive']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  canonicalizeQuantity,
  compareQuantities,
  isQuantity,
  parseQuantity,
  printQuantity,
  type Quantity,
  QuantityError,
  scaledValue,
  subtractQuantities,
} from './quantity.ts';

describe('quantities', () => {
  it.each<[string | number, string]>([
    ['0', '0'],
    ['00', '0'],
    ['+', '0'],
    ['1000m', '1'],
    ['0.5', '500m'],
    [0.5, '500m'],
    [1e21, '1e21'],
    [' 5 ', '5'],
    ['1.5', '1500m'],
    ['1024Ki', '1Mi'],
    ['1025Ki', '1025Ki'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['1.1Ki', '1126400m'],
    ['0.0001Ki', '102400u'],
    ['100000', '100k'],
    ['1000000', '1M'],
    ['1100', '1100'],
    ['1e3', '1e3'],
    ['1e4', '10e3'],
    ['1E', '1E'],
    ['1000E', '1000E'],
    ['12e-1', '1200e-3'],
    ['1.0000000001', '1000000001n'],
    ['0.0000000001', '1n'],
    ['-0.0000000001', '-1n'],
    ['-1Ki', '-1Ki'],
    ['100Ei', '9223372036854775807'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    // Kubernetes keeps these as written.
    ['+5', '+5'],
    ['005', '005'],
    ['1.234', '1.234'],
  ])('%j is stored as %j', (given, expected) => {
    expect(canonicalizeQuantity(given)).toBe(expected);
  });

  it.each([
    ['', /^quantities must match the regular expression/],
    ['lots', /^quantities must match the regular expression/],
    ['1.2.3', /^quantities must match the regular expression/],
    ['1 k', /^quantities must match the regular expression/],
    ['1K', /^unable to parse quantity's suffix$/],
    ['1e', /^unable to parse quantity's suffix$/],
    ['1Mib', /^quantities must match/],
    ['.Pi', /^unable to parse numeric part of quantity$/],
    ['1e999999999', /^unable to parse quantity's suffix$/],
    ['1'.repeat(300), /^quantities must match/],
  ])('rejects %j', (given, message) => {
    expect(() => canonicalizeQuantity(given)).toThrow(QuantityError);
    expect(() => canonicalizeQuantity(given)).toThrow(message);
    expect(isQuantity(given)).toBe(false);
  });

  it.each([
    ['2500m', 0, 3n],
    ['-2500m', 0, -3n],
    ['2500m', -3, 2500n],
    ['1Ki', 0, 1024n],
    ['3k', -3, 3_000_000n],
  ])('%s in units of 10^%i is %s', (text, scale, expected) => {
    expect(scaledValue(parseQuantity(text), scale)).toBe(expected);
  });

  it('a sum uses the notation of the first summand, unless that is zero', () => {
    expect(printQuantity(addQuantities(parseQuantity('1Gi'), parseQuantity('1k')))).toBe('1073742824');
    expect(printQuantity(addQuantities(parseQuantity('0'), parseQuantity('1Gi')))).toBe('1Gi');
    expect(printQuantity(addQuantities(parseQuantity('500m'), parseQuantity('500m')))).toBe('1');
    expect(printQuantity(subtractQuantities(parseQuantity('1'), parseQuantity('1500m')))).toBe('-500m');
  });
});

const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-2', 'E5');
const digits = fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String);
const text = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(digits), suffix)
  .map(([sign, whole, part, end]) => `${sign}${whole}${part === null ? '' : `.${part}`}${end}`);
const quantity = text.map(parseQuantity);

const same = (one: Quantity, other: Quantity): boolean => compareQuantities(one, other) === 0;

describe('every quantity', () => {
  it('keeps its amount in its stored form, which is stable', () => {
    fc.assert(
      fc.property(text, (given) => {
        const stored = canonicalizeQuantity(given);
        expect(same(parseQuantity(stored), parseQuantity(given))).toBe(true);
        expect(canonicalizeQuantity(stored)).toBe(stored);
      }),
    );
  });

  it('prints the same with and without the shortcut', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(canonicalizeQuantity(given)).toBe(printQuantity(parseQuantity(given)));
      }),
    );
  });

  it('adds, subtracts and compares as numbers do', () => {
    fc.assert(
      fc.property(quantity, quantity, (one, other) => {
        const sum = addQuantities(one, other);
        expect(same(sum, addQuantities(other, one))).toBe(true);
        expect(same(subtractQuantities(sum, other), one)).toBe(true);
        expect(Math.sign(compareQuantities(one, other))).toBe(-Math.sign(compareQuantities(other, one)) + 0);
        expect(compareQuantities(sum, one) >= 0).toBe(other.value >= 0n);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StatusError } from '../status/status.ts';
import { type LabelRequirement, parseLabelSelector, selectorOf } from './label.ts';

const objects: Record<string, Record<string, string> | undefined> = {
  gold: { tier: 'gold', n: '1' },
  silver: { tier: 'silver', n: 'x' },
  bare: {},
  none: undefined,
};

describe('label selectors', () => {
  it.each([
    ['', ['gold', 'silver', 'bare', 'none']],
    ['tier=gold', ['gold']],
    ['tier==gold,n=1', ['gold']],
    ['tier!=gold', ['silver', 'bare', 'none']],
    ['tier in (gold, silver)', ['gold', 'silver']],
    ['tier notin (gold)', ['silver', 'bare', 'none']],
    ['tier', ['gold', 'silver']],
    ['!tier', ['bare', 'none']],
    ['n>0', ['gold']],
    ['n<1', []],
    ['tier=', []],
    ['tier in ()', []],
    ['constructor', []],
    ['toString!=x', ['gold', 'silver', 'bare', 'none']],
    ['in in (notin)', []],
  ])('%j selects %j', (text, expected) => {
    const selector = parseLabelSelector(text);
    expect(Object.keys(objects).filter((name) => selector.matches(objects[name]))).toEqual(expected);
  });

  it.each([
    ['a=b=c', `found '=', expected: ',' or 'end of string'`],
    ['a in', `unable to parse requirement: found '' expected: '('`],
    ['a in (b', `unable to parse requirement: found '', expected: ',' or ')'`],
    [',', `found ',', expected: !, identifier, or 'end of string'`],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a,', `found '', expected: identifier after ','`],
    ['!', `unable to parse requirement: found '', expected: identifier`],
    ['x=!', `unable to parse requirement: found '!', expected: identifier`],
    ['a in (x,,)', `unable to parse requirement: found ')', expected: ',', or identifier`],
    ['/a', 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
    ['a>x', `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
    [
      `a=${'x'.repeat(64)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${'x'.repeat(64)}": must be no more than 63 characters`,
    ],
  ])('rejects %j', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ message, code: 400 }));
  });

  it('prints its requirements by key', () => {
    expect(parseLabelSelector('z, !y,x in (b,a),w!=1 ,v notin (q)').toString()).toBe('v notin (q),w!=1,x in (a,b),!y,z');
  });

  it('is limited in size', () => {
    expect(() => parseLabelSelector(`a in (${'x,'.repeat(40_000)}x)`)).toThrow('at most 65536 are allowed');
  });
});

const key = fc.constantFrom('a', 'b.c/d', 'in', 'constructor');
const value = fc.constantFrom('', 'x', 'y-z', '3', '-2', 'notin');
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('exists' as const, '!' as const) }),
  fc.record({ key, operator: fc.constantFrom('=' as const, '==' as const, '!=' as const), value: value.filter((text) => text !== '-2') }),
  fc.record({ key, operator: fc.constantFrom('>' as const, '<' as const), value: fc.constantFrom('3', '0', '12') }),
  fc.record({
    key,
    operator: fc.constantFrom('in' as const, 'notin' as const),
    values: fc
      .uniqueArray(
        value.filter((text) => text !== '-2'),
        { minLength: 1 },
      )
      .map((values) => values.sort()),
  }),
);
const labels = fc.dictionary(key, value, { noNullPrototype: true });

/** The meaning of a requirement, in plain code. */
function holds(test: LabelRequirement, given: Record<string, string>): boolean {
  const actual = Object.hasOwn(given, test.key) ? given[test.key] : undefined;
  switch (test.operator) {
    case 'exists':
      return actual !== undefined;
    case '!':
      return actual === undefined;
    case '=':
    case '==':
      return actual === test.value;
    case '!=':
      return actual !== test.value;
    case 'in':
      return actual !== undefined && test.values.includes(actual);
    case 'notin':
      return actual === undefined || !test.values.includes(actual);
    default:
      if (actual === undefined || !/^-?\d+$/.test(actual)) return false;
      return test.operator === '>' ? Number(actual) > Number(test.value) : Number(actual) < Number(test.value);
  }
}

describe('every label selector', () => {
  it('round-trips through its printed form', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), labels, (requirements, given) => {
        const selector = selectorOf(requirements);
        const again = parseLabelSelector(selector.toString());
        expect(again.requirements).toEqual(selector.requirements);
        expect(again.matches(given)).toBe(requirements.every((test) => holds(test, given)));
      }),
    );
  });

  it('is parsed or rejected with a status, whatever the text', () => {
    const word = fc.constantFrom('a', 'in', 'notin', ' ', ',', '(', ')', '=', '!', '>', '<', 'é', '\0', '"', 'x/y/z', '-');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        try {
          parseLabelSelector(words.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(StatusError);
        }
      }),
    );
  });
});

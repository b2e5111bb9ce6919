import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { Automaton } from './automaton.ts';
import { machineOf } from './machine.ts';
import { compilePattern, PatternError } from './pattern.ts';
import { readPattern } from './syntax.ts';

function automatonOf(text: string): Automaton | undefined {
  const node = readPattern(text);
  const machine = node === undefined ? undefined : machineOf(node);
  return machine === undefined ? undefined : Automaton.of(machine);
}

const characters = ['a', 'b', 'c', '0', '9', '-', '_', '.', ' ', '\n', '\t', 'é', '日', '😀', '\ud800', '\u2028', 'Z', '/', '\\', ']'];
const text = fc.array(fc.constantFrom(...characters), { maxLength: 12 }).map((parts) => parts.join(''));

const atom = fc.constantFrom(
  ...['a', 'b', 'c', '0', '-', '_', ' ', 'é', '.', '\\.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\n', '\\t', '\\/', '\\\\', '^', '$'],
  ...[
    '[a-c]',
    '[^a-c]',
    '[a-z0-9]',
    '[-a-z0-9]',
    '[a-z_.-]',
    '[^\\s/]',
    '[\\w.-]',
    '[]a]',
    '[^]a]',
    '[a-b-c]',
    '[\\]\\-]',
    '[é-日]',
    '[^a]',
  ],
);
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{0}', '{1,}', '{0,3}', '{2,3}?', '{1}');
const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  pattern: fc
    .array(fc.array(tie('piece'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((options) => options.map((pieces) => pieces.join('')).join('|')),
  piece: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.tuple(atom, quantifier).map((parts) => parts.join('')),
    fc.tuple(fc.constantFrom('(', '(?:', '(?P<n>'), tie('pattern'), quantifier).map(([open, inner, many]) => `${open}${inner})${many}`),
  ),
}));

describe('a pattern', () => {
  it('matches the same texts as RE2', () => {
    let own = 0;
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 8 }), (source, texts) => {
        let reference: RE2JS;
        try {
          reference = RE2JS.compile(source);
        } catch {
          expect(() => compilePattern(source)).toThrow(PatternError);
          return;
        }
        if (automatonOf(source) !== undefined) own++;
        const compiled = compilePattern(source);
        for (const one of texts) expect(compiled.matches(one), JSON.stringify([source, one])).toBe(reference.matcher(one).find());
      }),
      { numRuns: 3000 },
    );
    // Otherwise the property would hardly test our own automaton.
    expect(own).toBeGreaterThan(1000);
  });

  it.each([
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    '^\\d{1,3}(\\.\\d{1,3}){3}$',
    '^[A-Za-z0-9._-]{1,63}$',
    '^(([1-9]\\d*)|0)(\\.\\d+)?(Ki|Mi|Gi)?$',
    '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$',
    '^https?://[^\\s/$.?#].[^\\s]*$',
    '.+',
  ])('such as %s, as used in CRDs, uses the automaton', (source) => {
    expect(automatonOf(source)).toBeDefined();
  });

  it.each(['(?i)abc', '\\bword\\b', '[[:alpha:]]+', '\\pL+', '\\p{Greek}', '\\x41', 'a{1,2', '(?m)^a$', '\\Qa.b\\E', '(x+x+)+y{600}'])(
    '%s is left to RE2',
    (source) => {
      expect(automatonOf(source)).toBeUndefined();
      expect(() => compilePattern(source)).not.toThrow();
    },
  );

  it.each(['(', 'a**', '[z-a]', 'a{1001}', '(?=a)', '(?<!a)', '\\1', '*a'])('%s is rejected', (source) => {
    expect(() => compilePattern(source)).toThrow(PatternError);
  });

  it('that needs too many states falls back to RE2 before creating them all', () => {
    const source = '(a|b)*a(a|b){12}$';
    const compiled = compilePattern(source);
    const reference = RE2JS.compile(source);
    for (let seed = 1; seed < 200; seed++) {
      const one = Array.from({ length: 40 }, (_, index) => ((seed * 2654435761 * (index + 1)) & 1024 ? 'a' : 'b')).join('');
      expect(compiled.matches(one)).toBe(reference.test(one));
    }
    const varied = Array.from({ length: 4000 }, (_, index) => ((index * index * 2654435761) & 4096 ? 'a' : 'b')).join('');
    expect(automatonOf(source)!.matches(varied)).toBeUndefined();
  });

  it('that would backtrack elsewhere reads a long text once', () => {
    const long = 'a'.repeat(200_000);
    expect(compilePattern('^(a+)+$').matches(`${long}!`)).toBe(false);
    expect(compilePattern('^(a|a)*$').matches(long)).toBe(true);
    expect(compilePattern('(.*a){8}b').matches(long)).toBe(false);
  });
});

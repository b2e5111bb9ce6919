import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IgnoreRules } from './ignore-rules.ts';

/** Whether a path is ignored, as when a folder is walked: below an ignored folder everything is. */
function isIgnored(rules: IgnoreRules, path: string): boolean {
  const parts = path.replace(/\/$/, '').split('/');
  return parts.some((_, index) => rules.ignores(parts.slice(0, index + 1), index < parts.length - 1 || path.endsWith('/')));
}

const of = (...lines: string[]): IgnoreRules => IgnoreRules.none().with([], lines.join('\n'));

test.each<[lines: string[], ignored: string[], kept: string[]]>([
  [['*.o'], ['a.o', 'x/y/a.o'], ['a.oo', 'o']],
  [['/build'], ['build', 'build/x'], ['src/build']],
  [['build/'], ['build/x', 'a/build/x'], ['build', 'a/build']],
  [['a/b'], ['a/b', 'a/b/c'], ['x/a/b']],
  [['**/logs'], ['logs', 'a/b/logs'], ['logs2']],
  [['logs/**'], ['logs/a', 'logs/a/b'], ['logs']],
  [['a/**/b'], ['a/b', 'a/x/b', 'a/x/y/b'], ['b', 'x/a/b']],
  [['*.log', '!keep.log'], ['a.log'], ['keep.log', 'x/keep.log']],
  [['data/', '!data/keep'], ['data/keep', 'data/x'], []],
  [['data/*', '!data/keep'], ['data/x'], ['data/keep', 'data/keep/y']],
  [
    ['/*', '!/src'],
    ['README', 'docs/x'],
    ['src', 'src/a'],
  ],
  [
    ['# a comment', '\\#file', '\\!important'],
    ['#file', '!important'],
    ['# a comment', 'important'],
  ],
  [
    ['trailing   ', 'kept\\ '],
    ['trailing', 'kept '],
    ['trailing   ', 'kept'],
  ],
  [
    ['[abc].txt', '[!0-9]x', '[]-]y'],
    ['a.txt', 'ax', ']y', '-y'],
    ['d.txt', '5x', 'zy'],
  ],
  [['[[:digit:]]z', '[a'], ['7z'], ['az', '[a']],
  [
    ['a?c', 'x\\*y'],
    ['abc', 'x*y'],
    ['ac', 'a/c', 'xzy'],
  ],
  [['*'], ['a', '.b', 'c/d'], []],
  [['foo*bar'], ['foobar', 'foo-bar'], ['foo/bar']],
  [['\r', 'crlf\r'], ['crlf'], ['crlf\r']],
  [['/'], [], ['a']],
])('%j', (lines, ignored, kept) => {
  const rules = of(...lines);
  expect(ignored.filter((path) => !isIgnored(rules, path))).toEqual([]);
  expect(kept.filter((path) => isIgnored(rules, path))).toEqual([]);
});

test('rules of a nested file apply below it and take precedence', () => {
  const top = of('*.tmp', '/only-top');
  const nested = top.with(['a', 'b'], '!keep.tmp\n/only-here');
  expect(isIgnored(nested, 'a/b/keep.tmp')).toBe(false);
  expect(isIgnored(nested, 'a/b/c/keep.tmp')).toBe(false);
  expect(isIgnored(nested, 'a/b/other.tmp')).toBe(true);
  expect(isIgnored(nested, 'a/b/only-here')).toBe(true);
  expect(isIgnored(nested, 'a/b/c/only-here')).toBe(false);
});

test('a pattern with many stars takes no time', () => {
  const rules = of(`${'*a'.repeat(100)}b`, `${'**/a/'.repeat(50)}b`);
  expect(isIgnored(rules, 'a'.repeat(4000))).toBe(false);
  expect(
    rules.ignores(
      Array.from({ length: 2000 }, () => 'a'),
      false,
    ),
  ).toBe(false);
});

const gitProblem = spawnSync('git', ['--version']).status === 0 ? undefined : 'git is not installed';
describeUnless(gitProblem, 'beside git', () => {
  test('agrees with git', () => {
    const part = fc.constantFrom('a', 'b', 'ab', '*', '?', '**', '[ab]', '*b', 'a*', '!a', '\\a');
    const line = fc
      .tuple(fc.constantFrom('', '!'), fc.constantFrom('', '/'), fc.array(part, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '/'))
      .map(([not, root, parts, end]) => not + root + parts.join('/') + end);
    const files = ['a', 'b', 'ab', 'ba', 'c'].flatMap((one) => [`${one}1`, `f/${one}`, `f/g/${one}`, `${one}/a`, `${one}/b/ab`]);
    const directory = mkdtempSync(join(tmpdir(), 'capstan-ignore-'));
    try {
      const git = (args: string[], input?: string): string =>
        execFileSync('git', ['-c', 'core.excludesFile=/dev/null', ...args], { cwd: directory, input, encoding: 'utf8' });
      git(['init', '-q']);
      for (const file of files) {
        mkdirSync(dirname(join(directory, file)), { recursive: true });
        writeFileSync(join(directory, file), '');
      }
      fc.assert(
        fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
          writeFileSync(join(directory, '.gitignore'), lines.join('\n'));
          const listed = git(['ls-files', '--others', '--exclude-standard', '-z']).split('\0').filter(Boolean);
          const rules = of(...lines);
          const kept = [...files, '.gitignore'].filter((file) => !isIgnored(rules, file));
          expect(kept.toSorted()).toEqual(listed.toSorted());
        }),
        { numRuns: 60 },
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

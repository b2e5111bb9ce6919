import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf } from './imports.ts';
import { checkLayers } from './layers.ts';

const root = resolve(import.meta.dirname, '../..');
const check = (file: string, target: string): string[] => checkLayers(root, [{ file, line: 1, target }]);

test('finds all kinds of imports', () => {
  const text = `import { a } from './a.ts';
import type {
  B,
} from './b.ts';
import './c.ts';
export * from './d.ts';
const e = await import('./e.ts');
// not an import: from './x.ts'
`;
  expect(importsOf('f.ts', text).map(({ line, target }) => `${line} ${target}`)).toEqual([
    '1 ./a.ts',
    '4 ./b.ts',
    '5 ./c.ts',
    '6 ./d.ts',
    '7 ./e.ts',
  ]);
});

test.each([
  ['a later package', 'packages/store/src/x.ts', '@capstan/apiserver', 'not in packages/store/package.json'],
  ['a file of another package by path', 'packages/store/src/x.ts', '../../machinery/src/json.ts', 'reaches into packages/machinery'],
  [
    'a path that a package does not export',
    'packages/apiserver/src/x.ts',
    '@capstan/store/sqlite/open.ts',
    'is not exported by @capstan/store',
  ],
  ['file access in a package of pure functions', 'packages/machinery/src/x.ts', 'node:fs', 'does no input or output'],
  ['an undeclared dependency', 'packages/machinery/src/x.ts', 'lodash', 'lodash is not in packages/machinery/package.json'],
  ['a later folder of a large package', 'packages/apiserver/src/http/x.ts', '../server/server.ts', 'http/ comes before server/'],
  ['a folder without a place in the order', 'packages/apiserver/src/http/x.ts', '../utils/a.ts', 'must not import it'],
  ['a page in a component', 'apps/console/src/components/x.tsx', '../pages/home/home.tsx', 'components/ comes before pages/'],
  ['the testbed in production code', 'apps/cli/src/x.ts', '@capstan/testbed', 'testbed'],
])('rejects %s', (_what, file, target, message) => {
  expect(check(file, target)).toEqual([expect.stringContaining(message)]);
});

test.each([
  ['an earlier package', 'packages/apiserver/src/x.ts', '@capstan/machinery'],
  ['a file of the same package', 'packages/store/src/sqlite/open.ts', '../contract.ts'],
  ['the testbed in a test', 'apps/cli/src/x.test.ts', '@capstan/testbed'],
  ['vitest in a test', 'packages/store/src/x.test.ts', 'vitest'],
])('allows %s', (_what, file, target) => {
  expect(check(file, target)).toEqual([]);
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { checkFacts } from './facts.ts';
import { checkShape } from './shape.ts';

function treeOf(files: Readonly<Record<string, string>>, check: (root: string, files: readonly string[]) => string[]): string[] {
  using directory = temporaryDirectory('checks');
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(directory.join(file)), { recursive: true });
    writeFileSync(directory.join(file), text);
  }
  return check(directory.path, Object.keys(files));
}

test('reports a file that shadows a folder', () => {
  const files = { 'packages/a/src/x.ts': 'export const a = 1;', 'packages/a/src/x/y.ts': 'export const b = 1;' };
  expect(treeOf(files, checkShape)).toEqual([expect.stringContaining('packages/a/src/x.ts: a folder of the same name')]);
});

test('reports a barrel inside a package, but not at its edge', () => {
  const barrel = "export { a } from './a.ts';\nexport type { B } from './b.ts';\n";
  const files = {
    'packages/a/src/index.ts': barrel,
    'packages/a/src/x/index.ts': barrel,
    'packages/a/src/y/index.ts': 'export const a = 1;',
  };
  expect(treeOf(files, checkShape)).toEqual([expect.stringContaining('packages/a/src/x/index.ts: barrels')]);
});

test('reports a name that is defined twice, whatever it is called', () => {
  const files = {
    'packages/api/src/a.ts': "export const pathAnnotation = 'kcp.io/path';\nexport const rootCluster = asClusterId('root');\n",
    'packages/b/src/b.ts': "const path = 'kcp.io/path';\nconst group = 'apis.kcp.io/v1alpha2';\nconst shard = 'root';\n",
    'packages/c/src/c.ts': "export const rootCluster = 'root';\nconst version = 'apis.kcp.io/v1alpha2';\n",
  };
  expect(treeOf(files, checkFacts)).toEqual([
    "packages/b/src/b.ts: path is 'kcp.io/path', which packages/api/src/a.ts (pathAnnotation) defines already; import it",
    "packages/c/src/c.ts: rootCluster is 'root', which packages/api/src/a.ts (rootCluster) defines already; import it",
  ]);
});

test('reports a kind that is spelled out outside of the api package', () => {
  const kind = "const type = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };\n";
  const files = {
    'packages/api/src/a.ts': kind,
    'packages/b/src/b.ts': `${kind}const other = { group: 'apps', resource: 'deployments' };\n`,
  };
  expect(treeOf(files, checkFacts)).toEqual([
    'packages/b/src/b.ts: spells out the kind apiexports.apis.kcp.io; import its reference from @capstan/api, or define it there',
  ]);
});

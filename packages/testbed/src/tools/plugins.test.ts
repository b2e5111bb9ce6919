import { chmodSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { output } from '../command.ts';
import { temporaryDirectory } from '../temporary.ts';
import { pathWithPlugins } from './plugins.ts';

test('makes plugins available under their own names, whatever their files are called', async () => {
  using directory = temporaryDirectory('plugins');
  const program = directory.join('kubectl-ws-v1.2.3');
  writeFileSync(program, '#!/bin/sh\necho found\n');
  chmodSync(program, 0o755);
  const path = pathWithPlugins(directory.join('bin'), { 'kubectl-ws': program });
  expect(await output('sh', ['-c', 'kubectl-ws'], { environment: { PATH: path } })).toBe('found\n');
});

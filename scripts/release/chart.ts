import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tar, treeEntries } from '@capstan/node-agent';
import { root } from './place.ts';

/** Packs the Helm chart as `helm package` would, without Helm. Returns the path. */
export function packChart(output: string): string {
  const folder = join(root, 'deploy/helm/capstan');
  const version = /^version: (\S+)$/m.exec(readFileSync(join(folder, 'Chart.yaml'), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`expected a line "version: …" in ${join(folder, 'Chart.yaml')}, found none`);
  mkdirSync(output, { recursive: true });
  // Not capstan-<version>.tgz, which is the package of the command.
  const path = join(output, `capstan-chart-${version}.tgz`);
  writeFileSync(path, gzipSync(tar(treeEntries(folder, 'capstan'))));
  return path;
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface PackageFile {
  readonly version: string;
}

export function capstanVersion(): string {
  return (JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8')) as PackageFile).version;
}

/** The versions of Capstan, the Kubernetes API, Node and SQLite, in one line. */
export function versionText(): string {
  return `capstan ${capstanVersion()} (Kubernetes API 1.34, Node ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'unknown'})`;
}

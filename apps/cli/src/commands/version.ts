import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface PackageFile {
  readonly version: string;
}

function capstanVersion(): string {
  return (JSON.parse(readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8')) as PackageFile).version;
}

export function printVersion(): void {
  process.stdout.write(
    `capstan ${capstanVersion()} (Kubernetes API 1.34, Node ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'unknown'})\n`,
  );
}

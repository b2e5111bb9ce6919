import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for programs that a test writes. Disposing removes it. */
export class Scripts implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'capstan-supervise-'));

  /** Writes a program for Node that runs until SIGTERM, unless its source ends it. */
  program(name: string, source: string): string {
    const path = join(this.directory, `${name}.mjs`);
    writeFileSync(path, `${source}; setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit());`);
    return path;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

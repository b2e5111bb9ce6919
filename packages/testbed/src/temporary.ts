import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryDirectory extends Disposable {
  readonly path: string;
  join(...parts: string[]): string;
}

/** A new empty directory that is deleted with its content when disposed. */
export function temporaryDirectory(name = 'test'): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), `capstan-${name}-`));
  return {
    path,
    join: (...parts) => join(path, ...parts),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** A loopback port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('expected a TCP address from the listening probe'));
        else resolve(address.port);
      });
    });
  });
}

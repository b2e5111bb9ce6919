import { readFileSync } from 'node:fs';
import { Failure } from '../failure.ts';

/** A file that the configuration names, such as a certificate. */
export function readSetting(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Failure('usage', `${path}: cannot be read: ${(error as Error).message}. Correct its path in the configuration file.`, error);
  }
}

export function addressOf(scheme: string, host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }));
}

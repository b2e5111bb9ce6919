import type { ServerResponse } from 'node:http';

/** Writes to a response, and waits while its reader is slow, at most `patience` milliseconds. Undefined if there is nothing to wait for. */
export function writePatiently(response: ServerResponse, chunk: string | Uint8Array, patience: number): Promise<void> | undefined {
  if (response.write(chunk) || response.destroyed) return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), patience);
    const go = (): void => {
      clearTimeout(timer);
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
}

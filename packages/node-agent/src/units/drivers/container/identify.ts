import { text } from 'node:stream/consumers';
import { Engine } from './engine.ts';

export interface Identity {
  readonly engine: 'Podman' | 'Docker';
  /** Of the API. */
  readonly version: string;
}

/** In milliseconds: a socket whose engine is still starting, or hangs, must not hold up the agent. */
const patience = 10_000;

/** The engine that answers on a socket; undefined if none does. */
export async function identify(socketPath: string): Promise<Identity | undefined> {
  try {
    const response = await new Engine(socketPath).stream({ path: '/_ping', signal: AbortSignal.timeout(patience) });
    await text(response);
    const { 'libpod-api-version': libpod, 'api-version': api } = response.headers;
    if (typeof libpod === 'string') return { engine: 'Podman', version: libpod };
    return typeof api === 'string' ? { engine: 'Docker', version: api } : undefined;
  } catch {
    return undefined;
  }
}

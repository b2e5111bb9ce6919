import { type LogPartStored, logStorePath, rootCluster } from '@capstan/api';
import { ApiError, type Client } from '@capstan/client';
import type { LogSenderOptions } from './sender.ts';

/** The control plane will not change its mind: it has no such NodeUnit or NodeTask, or no log store. */
const lasting: ReadonlySet<number> = new Set([400, 403, 404, 405, 413]);

/** Sends parts of output to an API server. */
export function partSender(client: Client): LogSenderOptions['send'] {
  const root = client.cluster(rootCluster);
  return async ({ path: name, offset, bytes, gap }, signal) => {
    const path = `${logStorePath}${name}?offset=${offset}${gap ? '&gap=true' : ''}`;
    const headers = { 'content-type': 'application/octet-stream' };
    try {
      const { size } = await root.json<LogPartStored>({ method: 'PUT', path, headers, body: new Uint8Array(bytes), signal });
      return size;
    } catch (error) {
      if (error instanceof ApiError && lasting.has(error.code)) return 'unwanted';
      throw error;
    }
  };
}

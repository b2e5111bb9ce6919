import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Connection, connectionOf, loadKubeconfig } from '@capstan/client';
import { Failure } from '../failure.ts';

/** The context that the server writes into its kubeconfig. The current context may point anywhere. */
const context = 'capstan';

async function ask({ server, ca, credentials }: Connection): Promise<IncomingMessage> {
  const { certificate } = await credentials.current();
  return new Promise((resolve, reject) => {
    request(`${server}/capstan/snapshot`, { ...(ca !== undefined && { ca }), ...certificate }, resolve)
      .on('error', reject)
      .end();
  });
}

/** Asks the server that uses the data directory for a copy of all objects, as its administrator. */
export async function saveFromServer(file: string, dataDirectory: string): Promise<void> {
  const connection = connectionOf(loadKubeconfig({ path: join(dataDirectory, 'admin.kubeconfig') }), context);
  const { server } = connection;
  const answer = await ask(connection).catch((error: Error) => {
    throw new Failure(
      'unexpected',
      `the server of ${dataDirectory} does not answer at ${server}: ${error.message}. Start it, or name its etcd with --etcd-endpoints.`,
      error,
    );
  });
  if (answer.statusCode !== 200) {
    answer.resume();
    throw new Failure('unexpected', `the server of ${dataDirectory} answered ${answer.statusCode} to the request for a snapshot.`);
  }
  await pipeline(answer, createWriteStream(file, { mode: 0o600, flush: true }));
}

import { type ServerList, serversPath } from '@capstan/api';
import { callPage } from '../identity/calls.ts';
import type { Identity } from '../identity/state.ts';

/** The API servers, as the first of the known ones that answers tells them. */
export async function fetchServers(identity: Identity, known: readonly string[], signal: AbortSignal): Promise<ServerList> {
  const { authority: ca, certificate: cert, key } = identity;
  let failure: unknown = new Error('no API server is known');
  for (const server of known) {
    try {
      const text = await callPage(new URL(serversPath, server), { method: 'GET', tls: { ca, cert, key }, signal });
      return JSON.parse(text) as ServerList;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

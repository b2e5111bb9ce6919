import type { Client } from '@capstan/client';

/** Endpoints that come and go while a process runs, each with a client that covers all of its workspaces. */
export interface Endpoints {
  /**
   * Calls back with all endpoints by their URL, now and whenever they change, until the signal is aborted. Every caller gets the same client for the
   * same endpoint, so that they share informers.
   */
  follow(onChange: (clients: ReadonlyMap<string, Client>) => void, signal: AbortSignal): void;
}

/** Endpoints that never change. */
export function fixedEndpoints(...clients: readonly Client[]): Endpoints {
  const all = new Map(clients.map((client) => [client.connection.server, client]));
  return { follow: (onChange) => onChange(all) };
}

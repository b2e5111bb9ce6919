import { type UsageAppend, type UsageState, usagePath } from '@capstan/api';
import type { Client } from '@capstan/client';

/** The ledger, as the scheduler uses it. */
export interface Ledger {
  append(body: UsageAppend, signal: AbortSignal): Promise<unknown>;
  /** Of one allocation; only the clock without it. */
  state(allocation: { readonly cluster: string; readonly uid: string } | undefined, signal: AbortSignal): Promise<UsageState>;
}

/** The ledger of the API server. The client is one of root:platform. */
export function ledgerAt(client: Client): Ledger {
  return {
    append: (body, signal) =>
      client.json({
        method: 'POST',
        path: usagePath,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        repeatable: 'idempotent',
        signal,
      }),
    state: (allocation, signal) => {
      const owner = allocation === undefined ? '' : `${allocation.cluster}/${allocation.uid}`;
      return client.json({ method: 'GET', path: `${usagePath}?allocation=${encodeURIComponent(owner)}`, signal });
    },
  };
}

import { type Store, StoreError } from '../contract.ts';
import { type Call, Connection } from './connection.ts';
import { decodeVersion } from './messages.ts';
import type { EtcdStoreOptions } from './open.ts';
import { EtcdStore } from './store.ts';

const status: Call<string> = {
  path: '/etcdserverpb.Maintenance/Status',
  body: Buffer.alloc(0),
  decode: decodeVersion,
  repeatable: true,
  doing: 'ask etcd for its version',
};

/** Before 3.5.8 a progress notification could overtake unsent events. */
const oldest = [3, 5, 8] as const;

export async function connectToEtcd(options: EtcdStoreOptions): Promise<Store> {
  const { endpoints, prefix = '', tls, signal } = options;
  if (endpoints.length === 0)
    throw new StoreError('unavailable', 'no etcd endpoint is configured: expected at least one, such as http://127.0.0.1:2379');
  signal?.throwIfAborted();
  const connection = new Connection(endpoints, { tls, probe: status });
  try {
    const version = await connection.call({ ...status, doing: `connect to etcd at ${endpoints.join(', ')}` });
    if (isOlder(version)) {
      throw new StoreError(
        'outdated',
        `etcd at ${endpoints.join(', ')} has version ${version}, but ${oldest.join('.')} or newer is required. Upgrade it`,
      );
    }
  } catch (error) {
    connection.close();
    throw error;
  }
  const store = new EtcdStore(connection, prefix);
  if (signal?.aborted) await store[Symbol.asyncDispose]();
  signal?.addEventListener('abort', () => void store[Symbol.asyncDispose](), { once: true });
  return store;
}

export function isOlder(version: string): boolean {
  const parts = version.split(/[.\-+]/, 3).map(Number);
  for (const [index, needed] of oldest.entries()) {
    const part = parts[index] ?? 0;
    if (part !== needed) return !(part > needed);
  }
  return false;
}

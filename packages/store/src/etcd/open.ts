import type { Store } from '../contract.ts';
import type { TlsFiles } from './grpc-member.ts';

export interface EtcdStoreOptions {
  /** `http://host:port` or `https://host:port` of the members. With several, the store survives the loss of a member. */
  readonly endpoints: readonly string[];
  /** Prefixed to every key, so that several stores can share a cluster. */
  readonly prefix?: string;
  /** PEM texts. Needed for `https` endpoints whose certificate authority the system does not trust. */
  readonly tls?: TlsFiles;
  /** Closes the store. */
  readonly signal?: AbortSignal;
}

/** Rejects with `unavailable` if no member answers, and with `outdated` if etcd is too old. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  // Loaded on demand: SQLite users should not pay for HTTP/2.
  const { connectToEtcd } = await import('./connect.ts');
  return connectToEtcd(options);
}

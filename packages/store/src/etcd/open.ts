import type { Store } from '../contract.ts';
import type { TlsFiles } from './grpc-member.ts';

export interface EtcdStoreOptions {
  /** `http://host:port` or `https://host:port` of the members; more than one, so that the loss of a member is survived. */
  readonly endpoints: readonly string[];
  /** Put before every key, so that several stores share a cluster. */
  readonly prefix?: string;
  /** PEM texts. Needed for `https` endpoints whose authority is not one of the system's. */
  readonly tls?: TlsFiles;
  /** Closes the store. */
  readonly signal?: AbortSignal;
}

/** Rejects with `unavailable` when no member answers, or when etcd is too old. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  // Loaded on demand: with SQLite nobody should pay for HTTP/2.
  const { connectToEtcd } = await import('./connect.ts');
  return connectToEtcd(options);
}

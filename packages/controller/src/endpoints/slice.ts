import { type ApiExportEndpointSlice, endpointSliceKind } from '@capstan/api';
import type { Client, InformerFactory } from '@capstan/client';
import type { Endpoints } from './endpoints.ts';

export interface SliceEndpointsOptions {
  /** Of the workspace with the slice. */
  readonly informers: InformerFactory;
  /** The name of the APIExportEndpointSlice. */
  readonly name: string;
  /** Makes a client for a URL of `status.endpoints`. It is kept while the slice has the URL. */
  readonly clientOf: (url: string) => Client;
}

/** The endpoints that an APIExportEndpointSlice lists: the views of one export. A slice that is deleted, or not there yet, has none. */
export function sliceEndpoints({ informers, name, clientOf }: SliceEndpointsOptions): Endpoints {
  let clients: ReadonlyMap<string, Client> = new Map();
  const slices = informers.informer<ApiExportEndpointSlice>(endpointSliceKind, { fieldSelector: `metadata.name=${name}` });
  const update = (): ReadonlyMap<string, Client> => {
    const urls = slices.get({ name })?.status?.endpoints?.map(({ url }) => url) ?? [];
    const isSame = urls.length === clients.size && urls.every((url) => clients.has(url));
    if (!isSame) clients = new Map(urls.map((url) => [url, clients.get(url) ?? clientOf(url)]));
    return clients;
  };
  return {
    follow(onChange, signal) {
      if (signal.aborted) return;
      let told = update();
      const following = slices.onChange(() => {
        const now = update();
        if (now !== told) onChange((told = now));
      });
      signal.addEventListener('abort', () => following[Symbol.dispose](), { once: true });
      onChange(told);
    },
  };
}

import type { KubeObject, Status } from '@capstan/machinery/objects';

/** A list that is followed. */
export interface ListRequest {
  /** On the API server: `/clusters/<workspace>/apis/…`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** A value without a watch, which the process fetches again and again. */
export interface SampleRequest {
  /** Below `/kube` or `/rest`. */
  readonly sample: string;
  readonly seconds: number;
}

export type LiveRequest = ListRequest | SampleRequest;

export type Change = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject };

/** A message of the process. */
export type LiveMessage =
  | { readonly key: string; readonly type: 'list'; readonly items: readonly KubeObject[]; readonly resourceVersion?: string }
  | { readonly key: string; readonly type: 'changes'; readonly changes: readonly Change[] }
  | { readonly key: string; readonly type: 'sample'; readonly value: unknown }
  | { readonly key: string; readonly type: 'error'; readonly status: Status }
  | { readonly type: 'connection'; readonly upstream: 'lost'; readonly since: string }
  | { readonly type: 'connection'; readonly upstream: 'restored' };

/** The knowledge of a page about one request. While the connection is away, content stays as it was. */
export type Followed<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'error'; readonly status: Status }
  | { readonly state: 'content'; readonly content: T };

export const isSample = (request: LiveRequest): request is SampleRequest => 'sample' in request;

/** Requests with the same text are the same. */
export function keyOf(request: LiveRequest): string {
  return isSample(request)
    ? `sample ${request.seconds} ${request.sample}`
    : `list ${request.path} ${request.labelSelector ?? ''} ${request.fieldSelector ?? ''}`;
}

export function messageFor(key: string, request: LiveRequest): object {
  if (isSample(request)) return { add: key, sample: request.sample, seconds: request.seconds };
  const { path, labelSelector, fieldSelector } = request;
  const selector = {
    ...(labelSelector !== undefined && { labels: labelSelector }),
    ...(fieldSelector !== undefined && { fields: fieldSelector }),
  };
  return { add: key, path, ...(Object.keys(selector).length > 0 && { selector }) };
}

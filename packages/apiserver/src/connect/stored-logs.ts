import type { Readable } from 'node:stream';
import { type KubeObject, StatusError } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import type { Query } from '../request/info.ts';

/** Output of pods that nodes have sent while they were there. */
export interface StoredLogs {
  /** The output as the request wants it; undefined if there is none. */
  open(request: {
    readonly pod: KubeObject;
    /** Where the container runs. */
    readonly node: string;
    readonly container: string;
    readonly context: RequestContext;
    /** Options as in a request for a log. */
    readonly query: Pick<Query, 'get'>;
    readonly signal: AbortSignal;
  }): Promise<Readable | undefined>;
}

/** Whether an error says that a node is not connected, or has nothing of the pod. */
export function isAway(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 404 || error.code === 503);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '@capstan/machinery';
import type { Upstream } from '@capstan/serving';
import type { Streams } from '../http/streams.ts';

/** A request that a route handles. */
export interface Call {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Named in the path; undefined for the caller's own. */
  readonly workspace: string | undefined;
  /** The variable parts of the path. An `id` is a valid name. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** `Bearer …`, as the caller sent it; empty on routes for everybody. */
  readonly authorization: string;
  readonly upstream: Upstream;
  readonly streams: Streams;
  /** The body of the request. */
  body(): Promise<JsonObject>;
}

/** `sent`: the handler has written the response itself. */
export type Reply =
  | 'sent'
  | {
      readonly status: number;
      /** Sent as JSON, unless it is text. */
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

export type Handler = (call: Call) => Promise<Reply> | Reply;

import type { JsonObject } from '@capstan/machinery';
import type { Handler } from './call.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** By default in the query. */
  readonly place?: 'query' | 'header';
}

export interface Response {
  readonly description: string;
  /** The name of a schema; none for an empty response. */
  readonly schema?: string;
  /** `application/json` by default. */
  readonly type?: string;
}

/** One operation. The server, its documentation and the client are made of a table of them. */
export interface Route {
  readonly method: Method;
  /** Below `/api/v1`; variable parts are in braces: `/gpu-units/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  /** Whether it needs no token. */
  readonly isPublic?: boolean;
  readonly parameters?: readonly Parameter[];
  /** The name of the schema of the body. */
  readonly body?: string;
  /** By status. Problems are added to all of them. */
  readonly responses: Readonly<Record<number, Response>>;
  /** Whether the client leaves it out: streams and pages are read in other ways. */
  readonly isStream?: boolean;
  readonly handler: Handler;
}

import type { KubeObject } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import type { OpenStream } from './open-streams.ts';

export interface OwnRequest {
  readonly stream: OpenStream;
  readonly context: RequestContext;
  readonly object: KubeObject;
  readonly resource: Resource;
}

/** A subresource of a kind of our own whose requests are streams. */
export interface OwnSubresource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Whether every method needs the permission to create. A WebSocket can be opened only with GET, so the verb alone does not show what it does. */
  readonly isPowerful?: boolean;
  /** Anybody can define a kind with this name in a workspace of their own, so it must check that the object is what it seems. */
  serve(request: OwnRequest): Promise<void>;
  /** Serves a request for an object that does not exist. Without it, such requests are refused. */
  serveMissing?(request: Omit<OwnRequest, 'object'>): Promise<void>;
}

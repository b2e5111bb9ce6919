import { status } from '@capstan/machinery';
import type { NodeConnection, NodeRequest, NodeResponse } from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import { tunnelRefusal } from './relay.ts';

export interface NodeInTunnel {
  readonly node: string;
  readonly connection: NodeConnection;
}

/** Sends a request through a tunnel, with the name of the user who asked: escaped, as names may have characters that headers may not. */
export async function askNode({ node, connection }: NodeInTunnel, context: RequestContext, request: NodeRequest): Promise<NodeResponse> {
  const user = encodeURIComponent(context.user.name.toWellFormed());
  try {
    const response = await connection.request({ ...request, headers: { ...request.headers, 'capstan-user': user } });
    // HTTP/2 drops a body that nobody has begun to read when the stream ends.
    response.stream.pause();
    return response;
  } catch (error) {
    throw status.serviceUnavailable(`node ${node} cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The same, for requests that a node answers with 200 or an error. */
export async function askNodeForStream(
  target: NodeInTunnel,
  context: RequestContext,
  request: NodeRequest,
): Promise<NodeResponse['stream']> {
  const response = await askNode(target, context, request);
  if (response.status !== 200) throw await tunnelRefusal(response, target.node);
  return response.stream;
}

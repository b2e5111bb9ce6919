import { type KubeObject, status } from '@capstan/machinery';
import {
  type ForwardedConnection,
  joinConnection,
  PortForwardServer,
  portForwardProtocol,
  SpdyConnection,
  tunnelledPortForwardProtocol,
  WebSocketByteStream,
} from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import { negotiateSpdy, offeredProtocols, openSpdy, openWebSocket, wantsWebSocket } from './handshake.ts';
import type { KubeletClient } from './kubelet.ts';
import type { OpenStream } from './open-streams.ts';
import { handshakeHeaders, passThrough } from './pass-through.ts';
import { begin, relayRefusal, splice } from './relay.ts';
import type { NodeTarget } from './target.ts';
import { askNodeForStream, type NodeInTunnel } from './tunnel-request.ts';

export interface PortForwardRequest {
  readonly stream: OpenStream;
  readonly context: RequestContext;
  readonly pod: KubeObject;
  readonly target: NodeTarget;
}

/** Clients send their SPDY connection in messages as large as they like. */
const longestMessage = 32 << 20;

export async function servePortForward(kubelets: KubeletClient, request: PortForwardRequest): Promise<void> {
  const { stream, target } = request;
  const { exchange } = stream;
  if (exchange.upgradeTo === undefined) throw status.badRequest('Upgrade request required');
  const isTunnelled = wantsWebSocket(exchange) && offeredProtocols(exchange).includes(tunnelledPortForwardProtocol);
  if (target.kind === 'tunnel') return isTunnelled || exchange.upgradeTo === 'spdy/3.1' ? inTunnel(request, target, isTunnelled) : refuse();
  if (isTunnelled) return unwrapped(kubelets, request, target);
  const sent = { method: exchange.method, path: kubeletPath(request), headers: handshakeHeaders(exchange), signal: stream.signal };
  return passThrough(stream, await kubelets.upgrade(target.kubelet, sent));
}

function refuse(): never {
  throw status.badRequest(`expected an upgrade to SPDY/3.1, or to websocket with the protocol ${tunnelledPortForwardProtocol}`);
}

/** A SPDY connection inside a WebSocket. The kubelet gets it without the WebSocket. */
async function unwrapped(
  kubelets: KubeletClient,
  request: PortForwardRequest,
  { kubelet }: NodeTarget & { kind: 'kubelet' },
): Promise<void> {
  const { stream } = request;
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'X-Stream-Protocol-Version', portForwardProtocol];
  const answer = await kubelets.upgrade(kubelet, { method: 'POST', path: kubeletPath(request), headers, signal: stream.signal });
  if (answer.kind === 'refused') return relayRefusal(stream.exchange, answer.response);
  const { socket, head } = answer;
  socket.on('error', () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  const webSocket = (await begin(stream)) ? openWebSocket(stream, { protocol: tunnelledPortForwardProtocol, longestMessage }) : undefined;
  if (webSocket === undefined) return void socket.destroy();
  await splice(new WebSocketByteStream(webSocket), socket, stream);
}

/** A node agent gets one request for each connection. */
async function inTunnel(request: PortForwardRequest, target: NodeTarget & { kind: 'tunnel' }, isTunnelled: boolean): Promise<void> {
  const { stream } = request;
  const protocol = isTunnelled ? portForwardProtocol : negotiateSpdy(stream.exchange, [portForwardProtocol]);
  if (!(await begin(stream))) return;
  let connection: SpdyConnection | undefined;
  new PortForwardServer((onStream) => (connection = open(stream, { protocol, isTunnelled, onStream })), {
    onConnection: (forwarded) => void forward(request, target, forwarded),
  });
  const stop = (): void => connection?.destroy();
  stream.signal.addEventListener('abort', stop, { once: true });
  await connection!.closed;
  stream.signal.removeEventListener('abort', stop);
}

function open(
  stream: OpenStream,
  { protocol, isTunnelled, onStream }: { protocol: string; isTunnelled: boolean; onStream: Parameters<typeof openSpdy>[2] },
): SpdyConnection {
  if (!isTunnelled) return openSpdy(stream, protocol, onStream);
  const webSocket = openWebSocket(stream, { protocol: tunnelledPortForwardProtocol, longestMessage });
  if (webSocket === undefined) throw new Error('the client is gone');
  return new SpdyConnection(new WebSocketByteStream(webSocket), { role: 'server', onStream });
}

function forward({ stream, context, pod }: PortForwardRequest, target: NodeInTunnel, forwarded: ForwardedConnection): Promise<void> {
  const path = [context.cluster, pod.metadata.namespace ?? '', context.info.name].map(encodeURIComponent).join('/');
  const sent = { method: 'POST', path: `/portforward/${path}?port=${forwarded.port}`, signal: stream.signal };
  return joinConnection(forwarded, () => askNodeForStream(target, context, sent));
}

function kubeletPath({ context: { info }, pod }: PortForwardRequest): string {
  const ports = new URLSearchParams(info.query.getAll('ports').map((port): [string, string] => ['port', port])).toString();
  const path = [pod.metadata.namespace ?? '', info.name].map(encodeURIComponent).join('/');
  return `/portForward/${path}${ports === '' ? '' : `?${ports}`}`;
}

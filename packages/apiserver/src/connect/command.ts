import { type KubeObject, queryBoolean, status } from '@capstan/machinery';
import {
  type CommandChannels,
  type CommandOptions,
  chooseCommandProtocol,
  FramedChannels,
  joinChannels,
  kubeletCommandProtocol,
  longestMessage,
  SpdyClientChannels,
  SpdyConnection,
  SpdyServerChannels,
  spdyCommandProtocols,
  WebSocketChannels,
} from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import { negotiateSpdy, offeredProtocols, openSpdy, openWebSocket, wantsWebSocket } from './handshake.ts';
import type { KubeletClient } from './kubelet.ts';
import type { OpenStream } from './open-streams.ts';
import { handshakeHeaders, passThrough } from './pass-through.ts';
import { begin, relayRefusal } from './relay.ts';
import type { NodeTarget } from './target.ts';
import { askNodeForStream, type NodeInTunnel } from './tunnel-request.ts';

export interface CommandRequest {
  readonly stream: OpenStream;
  readonly context: RequestContext;
  readonly pod: KubeObject;
  readonly container: string;
  readonly target: NodeTarget;
  /** The path on a node that is reached through its tunnel. By default, that of the container. */
  readonly path?: string;
}

/** Serves exec and attach. */
export async function serveCommand(kubelets: KubeletClient, request: CommandRequest): Promise<void> {
  const { stream, target } = request;
  const { exchange } = stream;
  if (exchange.upgradeTo === undefined) throw status.badRequest('Upgrade request required');
  const isWebSocket = wantsWebSocket(exchange);
  if (target.kind === 'kubelet' && !isWebSocket) {
    const { kubelet } = target;
    const sent = { method: exchange.method, path: kubeletPath(request), headers: handshakeHeaders(exchange), signal: stream.signal };
    return passThrough(stream, await kubelets.upgrade(kubelet, sent));
  }
  const open = isWebSocket ? webSocketClient(request) : spdyClient(request);
  const node = target.kind === 'kubelet' ? await onKubelet(kubelets, request, target) : await inTunnel(request, target);
  if (node === undefined) return;
  node.on('error', () => {});
  const client = (await begin(stream)) ? open() : undefined;
  if (client === undefined) return void node.destroy();
  const stop = (): void => void client.destroy();
  stream.signal.addEventListener('abort', stop, { once: true });
  await joinChannels(client, node);
  stream.signal.removeEventListener('abort', stop);
}

function optionsOf({ context: { info } }: CommandRequest): CommandOptions {
  const asked = (name: string): boolean => queryBoolean(info.query.get(name)) === true;
  const options = { stdin: asked('stdin'), stdout: asked('stdout'), stderr: asked('stderr'), tty: asked('tty') };
  if (!options.stdin && !options.stdout && !options.stderr) throw status.badRequest('you must specify at least 1 of stdin, stdout, stderr');
  return options;
}

/** Checks that the client can be served; the result completes its handshake. */
function webSocketClient(request: CommandRequest): () => CommandChannels | undefined {
  const { stream } = request;
  optionsOf(request);
  const offered = offeredProtocols(stream.exchange);
  const protocol = chooseCommandProtocol(offered);
  if (protocol === undefined) throw status.badRequest(`unable to upgrade: requested protocol(s) are not supported: [${offered.join(' ')}]`);
  return () => {
    const webSocket = openWebSocket(stream, { protocol, longestMessage });
    return webSocket && new WebSocketChannels(webSocket, protocol);
  };
}

function spdyClient(request: CommandRequest): () => CommandChannels {
  const { stream } = request;
  if (stream.exchange.upgradeTo !== 'spdy/3.1') throw status.badRequest('expected an upgrade to SPDY/3.1 or websocket');
  const options = optionsOf(request);
  const protocol = negotiateSpdy(stream.exchange, spdyCommandProtocols);
  return () => new SpdyServerChannels((onStream) => openSpdy(stream, protocol, onStream), { ...options, protocol });
}

/** Undefined if the kubelet refused, which the client was told. */
async function onKubelet(
  kubelets: KubeletClient,
  request: CommandRequest,
  { kubelet }: NodeTarget & { kind: 'kubelet' },
): Promise<CommandChannels | undefined> {
  const { exchange, signal } = request.stream;
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'X-Stream-Protocol-Version', kubeletCommandProtocol];
  const answer = await kubelets.upgrade(kubelet, { method: 'POST', path: kubeletPath(request), headers, signal });
  if (answer.kind === 'refused') {
    await relayRefusal(exchange, answer.response);
    return undefined;
  }
  const { socket, head } = answer;
  if (head.length > 0) socket.unshift(head);
  return new SpdyClientChannels(new SpdyConnection(socket, { role: 'client' }), optionsOf(request));
}

async function inTunnel(request: CommandRequest, target: NodeInTunnel): Promise<CommandChannels> {
  const { context, pod, container, stream } = request;
  const { cluster, info } = context;
  const ofContainer = [info.subresource, cluster, pod.metadata.namespace ?? '', info.name, container].map(encodeURIComponent).join('/');
  const parameters = new URLSearchParams(info.query.getAll('command').map((word): [string, string] => ['command', word]));
  for (const [name, isWanted] of Object.entries(optionsOf(request))) if (isWanted) parameters.set(name, 'true');
  const sent = { method: 'POST', path: `${request.path ?? `/${ofContainer}`}?${parameters.toString()}`, signal: stream.signal };
  return new FramedChannels(await askNodeForStream(target, context, sent));
}

/** Kubelets have their own names for the same parameters. */
function kubeletPath({ context: { info }, pod, container }: CommandRequest): string {
  const parameters = new URLSearchParams();
  for (const [ours, theirs] of [
    ['stdin', 'input'],
    ['stdout', 'output'],
    ['stderr', 'error'],
    ['tty', 'tty'],
  ] as const)
    if (queryBoolean(info.query.get(ours))) parameters.set(theirs, '1');
  for (const word of info.query.getAll('command')) parameters.append('command', word);
  const path = [info.subresource, pod.metadata.namespace ?? '', info.name, container].map(encodeURIComponent).join('/');
  return `/${path}?${parameters.toString()}`;
}

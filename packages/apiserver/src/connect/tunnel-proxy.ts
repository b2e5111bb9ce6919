import { status } from '@capstan/machinery';
import { upgradedHeader, upgradeHeader } from '@capstan/streams';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import { staysBelow } from '../request/below.ts';
import { placePrefix } from '../request/place.ts';
import { proxiedBody } from './html-links.ts';
import type { OpenStream } from './open-streams.ts';
import { passThrough } from './pass-through.ts';
import { returnedHeaders, rewriteLocation } from './proxy-headers.ts';
import { relayBody } from './relay.ts';
import { askNode, type NodeInTunnel } from './tunnel-request.ts';

/** A request for a target, with everything that the target may see. */
export interface Proxied {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly headers: readonly string[];
  /** The path to the target on this server. */
  readonly prefix: string;
}

/** A place on a node. */
export interface TunnelPlace extends NodeInTunnel {
  /** Prefixed to the path of the request. */
  readonly path: string;
  /** Headers between this server and the agent, which start with `capstan-`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Passes a request on to a place on a node, and its response or the protocol that it changes to back. */
export async function proxyThroughTunnel(
  stream: OpenStream,
  context: RequestContext,
  { target, proxied }: { readonly target: TunnelPlace; readonly proxied: Proxied },
): Promise<void> {
  const { exchange, signal } = stream;
  if (!staysBelow(proxied.path.split('?', 1)[0]!)) throw status.badRequest('the path leads out of the proxy');
  const path = `${target.path}${proxied.path}`;
  const { 'content-length': length, ...plain } = joined(proxied.headers);
  const headers = { ...plain, ...target.headers };
  const upgrade = exchange.headers.upgrade;
  // Tunnels carry no body with these, and HTTP/2 ends the whole tunnel after a thousand requests with another length than was announced.
  const isRead = exchange.method === 'GET' || exchange.method === 'HEAD';
  const isUpgrade = exchange.upgradeTo !== undefined && upgrade !== undefined;
  const response = await askNode(
    target,
    context,
    isUpgrade
      ? // Without the length of its empty body: HTTP/2 ends the whole tunnel if more arrives than was announced.
        { method: 'POST', path, headers: { ...headers, [upgradeHeader]: upgrade }, signal }
      : // The target may wait for all of the body before it answers.
        {
          method: proxied.method,
          path,
          headers: { ...headers, ...(length !== undefined && !isRead && { 'content-length': length }) },
          body: exchange.bodyStream(),
          signal,
        },
  );
  if (isUpgrade && response.headers[upgradedHeader] !== undefined) {
    const handshake = ['Connection', 'Upgrade', 'Upgrade', upgrade, ...Object.entries(response.headers).flat()];
    return passThrough(stream, { kind: 'upgraded', socket: response.stream, head: Buffer.alloc(0), rawHeaders: handshake });
  }
  const raw = Object.entries(response.headers).flat();
  const origin = `http://${target.node}`;
  for (const [name, value] of returnedHeaders(raw, (location) => rewriteLocation(location, { origin, ...proxied })))
    exchange.header(name, value);
  const { status: code } = response;
  const type = response.headers['content-type'] ?? '';
  const encoding = response.headers['content-encoding'];
  await relayBody(stream, { code, type, body: proxiedBody(response.stream, { code, type, encoding }, { origin, ...proxied }) });
}

/** The path up to `proxy`, with the workspace, and the rest as the client wrote it. */
export function splitPath(
  { info }: RequestContext,
  { namespaced, group }: Pick<Resource, 'namespaced' | 'group'>,
): { prefix: string; rest: string } {
  const segments = info.path.split('/');
  const end = (namespaced ? 8 : 6) + (group === '' ? 0 : 1);
  const rest = segments.slice(end);
  return { prefix: `${placePrefix(info.place)}${segments.slice(0, end).join('/')}`, rest: rest.length === 0 ? '' : `/${rest.join('/')}` };
}

function joined(headers: readonly string[]): Record<string, string> {
  const result: Record<string, string> = {};
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!.toLowerCase();
    if (name === 'transfer-encoding') continue;
    result[name] = result[name] === undefined ? headers[at + 1]! : `${result[name]}, ${headers[at + 1]}`;
  }
  return result;
}

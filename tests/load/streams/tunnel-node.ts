import type { Agent } from '@capstan/apiserver/testing-fleet';
import { answerTunnel, dialTunnel, type TunnelHandler } from '@capstan/streams';
import type { Connection } from '@capstan/testbed';
import { mustAsk } from '../client/ask.ts';

/** A node whose agent has opened its tunnel, and a pod on it. */
export interface TunnelNode extends Disposable {
  /** The path of the pod. */
  readonly pod: string;
}

/** Opens the tunnel of an agent, whose requests are answered in this process, and creates a pod on its node. */
export async function startTunnelNode(
  address: Connection,
  { agent, namespace, handle }: { readonly agent: Agent; readonly namespace: string; readonly handle: TunnelHandler },
): Promise<TunnelNode> {
  const { node: nodeName, certificate, key } = agent;
  const tls = { ca: address.ca, cert: certificate, key: key.export({ type: 'pkcs8', format: 'pem' }) };
  const { signal } = new AbortController();
  const socket = await dialTunnel({ url: `https://${address.host}:${address.port}`, tls, signal, timeout: 60_000 });
  const tunnel = await answerTunnel(socket, { handle });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const spec = { nodeName, containers: [{ name: 'main', image: 'x' }] };
  await mustAsk(address, { method: 'POST', path: pods, body: JSON.stringify({ metadata: { name: nodeName }, spec }) });
  return { pod: `${pods}/${nodeName}`, [Symbol.dispose]: () => tunnel.destroy() };
}

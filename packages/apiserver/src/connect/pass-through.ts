import type { Exchange } from '../http/exchange.ts';
import { switchProtocols } from '../http/upgrade-exchange.ts';
import type { UpgradeAnswer } from './kubelet.ts';
import type { OpenStream } from './open-streams.ts';
import { begin, relayRefusal, splice } from './relay.ts';

const ofHandshake = /^(?:connection|upgrade|x-stream-protocol-version|user-agent|sec-websocket-[a-z]+)$/;

/** The headers of a handshake, for the node. Subprotocols are those that authentication left. */
export function handshakeHeaders({ rawHeaders, headers }: Exchange): string[] {
  const passed: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (ofHandshake.test(name) && name !== 'sec-websocket-protocol') passed.push(rawHeaders[at]!, rawHeaders[at + 1]!);
  }
  const protocols = headers['sec-websocket-protocol'];
  if (protocols !== undefined) passed.push('Sec-WebSocket-Protocol', protocols);
  return passed;
}

/** Passes the handshake of a node to the client, and then every byte in both directions. */
export async function passThrough(stream: OpenStream, answer: UpgradeAnswer): Promise<void> {
  const { exchange } = stream;
  if (answer.kind === 'refused') return relayRefusal(exchange, answer.response);
  const { socket: node, head, rawHeaders } = answer;
  node.on('error', () => node.destroy());
  if (!(await begin(stream))) return void node.destroy();
  const passed: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (ofHandshake.test(rawHeaders[at]!.toLowerCase())) passed.push(rawHeaders[at]!, rawHeaders[at + 1]!);
  if (head.length > 0) node.unshift(head);
  await splice(switchProtocols(exchange.upgrade(), passed), node, stream);
}

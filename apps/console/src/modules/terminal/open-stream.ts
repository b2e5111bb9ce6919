import { subprotocol } from './channel.ts';

/** Opens the stream of a command, at a path below `/kube` with its query. */
export function openStream(path: string): WebSocket {
  const address = new URL(path, location.href);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address, subprotocol);
  socket.binaryType = 'arraybuffer';
  return socket;
}

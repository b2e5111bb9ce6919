import { once } from 'node:events';
import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import type { Connection } from '@capstan/testbed';
import { WebSocket } from 'ws';
import { requestText, secureContext } from '../client/connection.ts';

/** Opens many streams, some at a time. */
export async function openMany<Stream>(count: number, open: () => Promise<Stream>, batch = 50): Promise<Stream[]> {
  const all: Stream[] = [];
  while (all.length < count) all.push(...(await Promise.all(Array.from({ length: Math.min(batch, count - all.length) }, open))));
  return all;
}

/** Opens followed logs, as bytes: whoever reads them does not look for lines. */
export function logOpener(address: Connection, pod: string): () => Promise<TLSSocket> {
  const context: SecureContext = secureContext(address);
  const { host, port, token } = address;
  return async () => {
    const socket = connect({ host, port, secureContext: context, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.on('error', () => socket.destroy());
    await once(socket, 'secureConnect');
    socket.write(requestText({ method: 'GET', path: `${pod}/log?follow=true`, token }));
    return socket;
  };
}

/** Attaches to the pod over WebSockets. */
export function webSocketOpener(address: Connection, path: string): () => Promise<WebSocket> {
  // Made once: it takes longer than a handshake.
  const identity = { rejectUnauthorized: false, secureContext: secureContext(address), perMessageDeflate: false };
  return async () => {
    const webSocket = new WebSocket(`wss://${address.host}:${address.port}${path}`, ['v5.channel.k8s.io'], identity);
    await once(webSocket, 'open');
    webSocket.on('error', () => webSocket.terminate());
    return webSocket;
  };
}

/** Sends a byte and waits for its echo, again and again. Counts round trips until the signal aborts. */
export function talk(webSocket: WebSocket, pause: number, signal: AbortSignal): () => number {
  let trips = 0;
  const send = (): void => {
    if (!signal.aborted) webSocket.send(Buffer.from([0, 0x61]));
  };
  webSocket.on('message', () => {
    trips++;
    setTimeout(send, pause);
  });
  send();
  return () => trips;
}

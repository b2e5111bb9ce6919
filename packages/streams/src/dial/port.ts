import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { portForwardProtocol } from '../port-forward/pairs.ts';
import { SpdyConnection } from '../spdy/connection.ts';
import { defaultPatience, refusalOf, StreamLost, type StreamServer } from './upgrade.ts';

/** In milliseconds. */
const reasonPatience = 2_000;

/** One connection to a port of a pod. */
export interface DialledPort {
  readonly data: Duplex;
  /** Resolves when the connection is over: with the reason, if the node could not connect to the port. */
  readonly failure: Promise<string | undefined>;
}

/** Connects to a port through a server. Each connection has its own stream, so that none waits for another. Rejects with `UpgradeRefused` or `StreamLost`. */
export async function dialPort(server: StreamServer, port: number): Promise<DialledPort> {
  const connection = new SpdyConnection(await upgrade(server), { role: 'client' });
  const headers = { port: String(port), requestid: '0' };
  const error = connection.open({ ...headers, streamtype: 'error' });
  const data = connection.open({ ...headers, streamtype: 'data' });
  error.end();
  let text = '';
  error.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const failure = new Promise<string | undefined>((resolve) => {
    error.once('close', () => resolve(text === '' ? undefined : text));
    void connection.closed.then((reason) => resolve(text === '' ? reason?.message : text));
  });
  // The reason why there is no connection may come after its end.
  data.once('close', () => {
    if (error.closed) return connection.close();
    const timer = setTimeout(() => connection.close(), reasonPatience).unref();
    error.once('close', () => {
      clearTimeout(timer);
      connection.close();
    });
  });
  return { data, failure };
}

function upgrade({ url, headers, tls, signal, patience = defaultPatience }: StreamServer): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const sent = (url.startsWith('https:') ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': portForwardProtocol },
      ...tls,
      ...(signal && { signal }),
      timeout: patience,
    });
    sent.on('timeout', () => sent.destroy(new Error(`the server did not answer within ${patience} ms`)));
    sent.on('error', (error) => reject(signal?.aborted === true ? error : new StreamLost(error.message, { cause: error })));
    sent.on('response', (response) => void refusalOf(response).then(reject));
    sent.on('upgrade', (_response, socket, head) => {
      socket.setTimeout(0);
      socket.setKeepAlive(true, 15_000);
      socket.setNoDelay(true);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    sent.end();
  });
}

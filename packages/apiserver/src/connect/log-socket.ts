import { pipeline, type Readable, Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { status } from '@capstan/machinery';
import { WebSocketByteStream } from '@capstan/streams';
import { offeredProtocols, openWebSocket, wantsWebSocket } from './handshake.ts';
import type { OpenStream } from './open-streams.ts';
import { begin, relayBody } from './relay.ts';

/** With the second one, each message is the base64 of the bytes. Without any, messages are bytes. */
const protocols = ['binary.k8s.io', 'base64.binary.k8s.io'] as const;
/** Clients have nothing to say. */
const longestMessage = 1 << 10;

/** Sends a log as the body of the response or, to clients that ask for one, over a WebSocket. */
export async function sendLog(stream: OpenStream, body: Readable): Promise<void> {
  const { exchange } = stream;
  if (!wantsWebSocket(exchange)) return relayBody(stream, { code: 200, type: 'text/plain', body });
  const offered = offeredProtocols(exchange);
  const protocol = offered.length === 0 ? '' : protocols.find((one) => offered.includes(one));
  if (protocol === undefined) {
    body.destroy();
    throw status.badRequest(`unable to upgrade: requested protocol(s) are not supported: [${offered.join(' ')}]`);
  }
  const webSocket = (await begin(stream)) ? openWebSocket(stream, { protocol, longestMessage }) : undefined;
  if (webSocket === undefined) return void body.destroy();
  const client = new WebSocketByteStream(webSocket);
  // Messages of the client are ignored.
  client.resume();
  const stop = (): void => void client.destroy();
  stream.signal.addEventListener('abort', stop, { once: true });
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      stream.sent += chunk.length;
      done(null, protocol === 'base64.binary.k8s.io' ? Buffer.from(chunk.toString('base64')) : chunk);
    },
  });
  pipeline(body, counted, client, () => {});
  await finished(client).catch(() => {});
  stream.signal.removeEventListener('abort', stop);
}

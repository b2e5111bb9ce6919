import { type ChannelMessage, channel, FramedChannels } from '@capstan/streams';
import type { NodeHandlers } from './router.ts';

const success = Buffer.from(JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }));

/** Answers every request with what it says and sends: it proves that streams work, before anything runs on the node. */
export const echo: NodeHandlers = {
  logs: (request) => {
    const stream = request.respond(200, { 'content-type': 'text/plain' });
    stream.write(`${JSON.stringify(request.route)}\n`);
    if (request.query.get('follow') !== 'true') stream.end();
  },
  exec: (request) => {
    const channels = new FramedChannels(request.respond(200));
    channels.on('error', () => {});
    channels.write({
      channel: channel.stdout,
      payload: Buffer.from(`${request.query.getAll('command').join(' ')}\n`),
    } satisfies ChannelMessage);
    if (request.query.get('stdin') !== 'true') return finish(channels);
    channels.on('data', (message: ChannelMessage) => {
      if (message.channel === channel.stdin) channels.write({ channel: channel.stdout, payload: message.payload } satisfies ChannelMessage);
      else if (message.channel === channel.close && message.payload[0] === channel.stdin) finish(channels);
    });
    channels.on('end', () => finish(channels));
  },
  portforward: (request) => {
    const stream = request.respond(200);
    stream.pipe(stream);
  },
  node: (request) => {
    const stream = request.respond(200, { 'content-type': 'text/plain' });
    if (request.method === 'GET') stream.end(`${request.route.path}\n`);
    else stream.pipe(stream);
  },
};

function finish(channels: FramedChannels): void {
  if (channels.writableEnded) return;
  channels.write({ channel: channel.error, payload: success } satisfies ChannelMessage);
  channels.end();
}

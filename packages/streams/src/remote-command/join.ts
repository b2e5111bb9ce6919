import { finished } from 'node:stream/promises';
import { type ChannelMessage, type CommandChannels, channel, failureMessage } from './channels.ts';

/**
 * Passes messages between a client and a node until both are closed. The client is told if the node goes away before the command has
 * ended; the node's end is destroyed when the client goes away.
 */
export async function joinChannels(client: CommandChannels, node: CommandChannels): Promise<void> {
  let isTold = false;
  client.on('error', () => {});
  node.on('error', () => {});
  client.on('close', () => node.destroy());
  node.on('close', () => {
    if (!client.writableEnded)
      client.end(isTold ? undefined : failureMessage('the connection to the node was lost before the command ended'));
  });
  node.on('data', (message: ChannelMessage) => {
    if (message.channel === channel.error) isTold = true;
  });
  node.pipe(client, { end: false });
  client.pipe(node, { end: false });
  node.on('end', () => node.destroy());
  await Promise.allSettled([finished(client, { cleanup: true }), finished(node, { cleanup: true })]);
}

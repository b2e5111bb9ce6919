import type { Duplex } from 'node:stream';
import { type Heartbeat, parseHeartbeat, readMessages, writeMessage } from './messages.ts';

/** Says that the Lease has this version now; undefined if it was not renewed. */
export type AnswerHeartbeat = (resourceVersion: string | undefined) => void;

/** The server's end of a stream for heartbeats. Ends the stream of an agent that sends another one before it has an answer. */
export function receiveHeartbeats(stream: Duplex, onHeartbeat: (heartbeat: Heartbeat, answer: AnswerHeartbeat) => void): void {
  let isAnswered = true;
  readMessages(stream, (message) => {
    if (!isAnswered) throw new Error('expected one heartbeat at a time');
    const { id } = message;
    const heartbeat = parseHeartbeat(message);
    isAnswered = false;
    onHeartbeat(heartbeat, (resourceVersion) => {
      isAnswered = true;
      writeMessage(stream, { id, ...(resourceVersion !== undefined && { resourceVersion }) });
    });
  });
}

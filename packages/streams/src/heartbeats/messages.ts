import type { Duplex } from 'node:stream';
import { isObject } from '@capstan/machinery';

/** In a tunnel: the stream on which the agent says that its node lives. Agents of earlier versions answer with 404. */
export const heartbeatsPath = '/heartbeats';

/** A renewal of the node's Lease, as the agent wants it. */
export interface Heartbeat {
  /** The Lease is renewed only if it still has this version. */
  readonly resourceVersion: string;
  /** The name of this run of the agent. */
  readonly holder: string;
  /** How long the Lease is valid, in seconds. */
  readonly seconds: number;
  /** By the clock of the agent, in milliseconds. */
  readonly at: number;
}

/** No message is longer, in characters. */
const longestMessage = 1024;
/** In milliseconds: the last time that is written with four digits of the year. */
const lastTime = Date.UTC(9999, 11, 31);
const longestLease = 86_400;

/** Calls back with each line that arrives, parsed. Ends the stream of a peer that sends something else. */
export function readMessages(stream: Duplex, onMessage: (message: Readonly<Record<string, unknown>>) => void): void {
  let begun = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (begun + text).split('\n');
    begun = lines.pop() ?? '';
    try {
      if (begun.length > longestMessage) throw new Error(`expected messages of at most ${longestMessage} characters`);
      for (const line of lines) {
        const message: unknown = JSON.parse(line);
        if (!isObject(message)) throw new Error('expected an object');
        onMessage(message);
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

export function writeMessage(stream: Duplex, message: object): void {
  if (!stream.destroyed) stream.write(`${JSON.stringify(message)}\n`);
}

/** Throws if the fields are not those of a heartbeat. */
export function parseHeartbeat({ resourceVersion, holder, seconds, at }: Readonly<Record<string, unknown>>): Heartbeat {
  const isValid =
    typeof resourceVersion === 'string' &&
    /^[1-9]\d{0,15}$/.test(resourceVersion) &&
    typeof holder === 'string' &&
    holder !== '' &&
    isWhole(seconds, { from: 1, to: longestLease }) &&
    isWhole(at, { from: 0, to: lastTime });
  if (!isValid) throw new Error('expected a heartbeat');
  return { resourceVersion, holder, seconds, at };
}

function isWhole(value: unknown, { from, to }: { readonly from: number; readonly to: number }): value is number {
  return Number.isInteger(value) && (value as number) >= from && (value as number) <= to;
}

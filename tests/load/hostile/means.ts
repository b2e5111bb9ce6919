import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { BodyReader } from '../client/body-reader.ts';
import type { World } from './world.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Counts what the server answers, by status or by what happened instead. */
export type Count = (answer: string) => void;

export interface Attack {
  readonly run: (world: World, count: Count, signal: AbortSignal) => Promise<void>;
  /** Requests that must succeed before it, and some after it. */
  readonly before?: (world: World) => readonly Request[];
  readonly after?: (world: World) => readonly Request[];
}

export function textOf({ attacker }: World, { method, path, headers = {}, body }: Request): string {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const all = { host: 'load', authorization: `Bearer ${attacker.token}`, accept: 'application/json', ...length, ...headers };
  const type = body === undefined || 'content-type' in headers ? '' : 'content-type: application/json\r\n';
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${type}\r\n${body ?? ''}`;
}

function dial({ host, port }: World, signal: AbortSignal): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
    socket.on('error', () => {});
    socket.once('secureConnect', () => resolve(socket));
    socket.once('close', () => resolve(undefined));
  });
}

/** One request at a time on one connection; its status, or undefined if the connection ended. */
export function exchange(socket: TLSSocket, text: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const reader = new BodyReader((status) => done(status));
    const onData = (chunk: Buffer): void => {
      if (reader.read(chunk)) reader.finish();
    };
    const onClose = (): void => done(undefined);
    const done = (status: number | undefined): void => {
      socket.off('data', onData).off('close', onClose);
      resolve(status);
    };
    socket.on('data', onData).on('close', onClose);
    if (socket.destroyed) done(undefined);
    else socket.write(text);
  });
}

/** Sends the next request on each connection as soon as the last was answered. */
export function asking(clients: number, request: (world: World, index: number) => Request): Attack {
  return {
    async run(world, count, signal) {
      let index = 0;
      const client = async (): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal);
          if (socket === undefined) {
            await sleep(50);
            continue;
          }
          while (!signal.aborted && !socket.destroyed) {
            const status = await exchange(socket, textOf(world, request(world, index++)));
            if (!signal.aborted) count(status === undefined ? 'closed' : String(status));
            // Retrying at once is what a polite client does not do, but some pause keeps the generator from being measured.
            if (status === 429) await sleep(20);
          }
          socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
    },
  };
}

/** Opens connections, sends a request on each, and reads nothing. Those that the server ends are opened again. */
export function connections(clients: (world: World) => number, request: (world: World, index: number) => Request): Attack {
  return {
    async run(world, count, signal) {
      const client = async (index: number): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal);
          if (socket === undefined) {
            await sleep(50);
            continue;
          }
          const { body = '', ...rest } = request(world, index);
          socket.pause();
          socket.write(textOf(world, rest) + body);
          count('sent');
          await new Promise((resolve) => socket.once('close', resolve));
          if (!signal.aborted) count('closed');
        }
      };
      await Promise.all(Array.from({ length: clients(world) }, (_, index) => client(index)));
    },
  };
}

export function handshakes(atOnce: number): Attack {
  return {
    async run(world, count, signal) {
      const client = async (): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal);
          if (!signal.aborted) count(socket === undefined ? 'closed' : 'done');
          socket?.destroy();
          if (socket === undefined) await sleep(20);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, client));
    },
  };
}

/** Nothing at all, to see how much the numbers vary by themselves. */
export function repeated(): Attack {
  return { run: (_world, _count, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })) };
}

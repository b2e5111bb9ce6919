import { connect as connectPlainly, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
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

/** As whom requests are sent: as a service account of the attacker, as a node agent, without credentials, or through the REST API. */
export type Sender = 'tenant' | 'agent' | 'nobody' | 'rest';

export interface Attack {
  readonly run: (world: World, count: Count, signal: AbortSignal) => Promise<void>;
  /** Requests that must succeed before it, and some after it. */
  readonly before?: (world: World) => readonly Request[];
  readonly after?: (world: World) => readonly Request[];
}

export function textOf({ attacker }: World, { method, path, headers = {}, body }: Request, sender: Sender = 'tenant'): string {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const authorization = sender === 'tenant' || sender === 'rest' ? { authorization: `Bearer ${attacker.token}` } : {};
  const all = { host: 'load', ...authorization, accept: 'application/json', ...length, ...headers };
  const type = body === undefined || 'content-type' in headers ? '' : 'content-type: application/json\r\n';
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${type}\r\n${body ?? ''}`;
}

/** Undefined if the server ended the connection. */
export function dial({ host, port, agent, restPort }: World, signal: AbortSignal, sender: Sender = 'tenant'): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const own = sender === 'agent' ? { cert: agent.certificate, key: agent.key } : {};
    const socket =
      sender === 'rest'
        ? connectPlainly(restPort, '127.0.0.1')
        : connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], ...own });
    const destroy = (): void => void socket.destroy();
    signal.addEventListener('abort', destroy, { once: true });
    socket.on('error', () => {});
    socket.once(sender === 'rest' ? 'connect' : 'secureConnect', () => resolve(socket));
    socket.once('close', () => {
      signal.removeEventListener('abort', destroy);
      resolve(undefined);
    });
  });
}

/** One request at a time on one connection; its status, or undefined if the connection ended. `onText` receives the body. */
export function exchange(socket: Socket, text: string, onText?: (text: string) => void): Promise<number | undefined> {
  return new Promise((resolve) => {
    const reader = new BodyReader((status) => done(status), onText);
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
export function asking(clients: number, request: (world: World, index: number) => Request, sender: Sender = 'tenant'): Attack {
  return {
    async run(world, count, signal) {
      let index = 0;
      const client = async (): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal, sender);
          if (socket === undefined) {
            await sleep(50);
            continue;
          }
          while (!signal.aborted && !socket.destroyed) {
            const status = await exchange(socket, textOf(world, request(world, index++), sender));
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
export function connections(
  clients: (world: World) => number,
  request: (world: World, index: number) => Request,
  sender: Sender = 'tenant',
): Attack {
  return {
    async run(world, count, signal) {
      const client = async (index: number): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal, sender);
          if (socket === undefined) {
            await sleep(50);
            continue;
          }
          const { body = '', ...rest } = request(world, index);
          socket.pause();
          socket.write(textOf(world, rest, sender) + body);
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

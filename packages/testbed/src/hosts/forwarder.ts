import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Child } from '../child.ts';
import { temporaryDirectory } from '../temporary.ts';
import type { Machine } from './machine.ts';

/** Runs in the hub: sockets with a path are reached from every network. */
const program = `
const { connect, createServer } = require('node:net');
const [path, host, port] = process.argv.slice(1);
createServer((from) => {
  const to = connect(Number(port), host);
  from.on('error', () => to.destroy()).on('close', () => to.destroy());
  to.on('error', () => from.destroy()).on('close', () => from.destroy());
  from.pipe(to).pipe(from);
}).listen(path, () => console.log('listening'));
`;

/** Makes an address of a hub's network available on a loopback port of this machine. */
export async function forwardPort(
  hub: Machine,
  to: { readonly host: string; readonly port: number },
): Promise<AsyncDisposable & { readonly port: number }> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('forward'));
  const path = directory.join('socket');
  const command = [process.execPath, '-e', program, path, to.host, String(to.port)];
  const child = stack.use(new Child('forwarder', hub.command(...command)));
  await child.waitUntil('it listens', () => child.output.includes('listening'));
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const inner = connect(path);
    open.add(from).add(inner);
    for (const [one, other] of [
      [from, inner],
      [inner, from],
    ] as const)
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          open.delete(one);
          other.destroy();
        });
    from.pipe(inner).pipe(from);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const owned = stack.move();
  return { port: address.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

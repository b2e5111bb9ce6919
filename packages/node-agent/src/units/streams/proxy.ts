import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { upgradedHeader, upgradeHeader } from '@capstan/streams';
import { type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { connectTo, join } from './port.ts';

type ProxyRequest = RoutedRequest<Extract<NodeRoute, { kind: 'proxy' }>>;

/** Headers between the API server and this agent, and those of one connection. */
const notPassedOn = /^(?:capstan-.*|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|host)$/;

/** Serves `pods/proxy`: an HTTP request to a port of the unit. */
export async function serveUnitProxy(request: ProxyRequest, engine: Pick<UnitEngine, 'runs' | 'driverOf'>): Promise<void> {
  const { route, signal, headers } = request;
  const connection = await connectTo(request, engine, route.port);
  if (connection === undefined) return;
  signal.addEventListener('abort', () => connection.destroy(), { once: true });
  const upgrade = headers[upgradeHeader];
  let answer: Answer;
  try {
    answer = await ask(request, connection, upgrade);
  } catch (error) {
    connection.destroy();
    if (signal.aborted) return;
    const why = error instanceof Error ? error.message : String(error);
    return refuse(request, { code: 502, reason: 'ServiceUnavailable', message: `error trying to reach unit ${route.pod}: ${why}` });
  }
  const { response } = answer;
  const returned = passedOn(response.headers);
  if (answer.kind === 'upgraded') return join(request.respond(200, { ...returned, [upgradedHeader]: 'true' }), answer.socket);
  const stream = request.respond(response.statusCode ?? 502, returned);
  // A response that was cut off must not look complete.
  response.on('error', (error) => stream.destroy(error));
  response.once('close', () => {
    if (!response.complete) stream.destroy(new Error('the unit broke off its response'));
  });
  response.pipe(stream);
}

type Answer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | { readonly kind: 'upgraded'; readonly response: IncomingMessage; readonly socket: Duplex };

function ask({ method, route, path, headers, body }: ProxyRequest, connection: Duplex, upgrade: string | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      method: upgrade === undefined ? method : 'GET',
      path: `${route.path}${queryOf(path)}`,
      headers: {
        ...passedOn(headers),
        host: `localhost:${route.port}`,
        ...(upgrade === undefined ? { connection: 'close' } : { connection: 'Upgrade', upgrade }),
      },
      createConnection: () => connection,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => resolve({ kind: 'response', response }));
    outgoing.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ kind: 'upgraded', response, socket });
    });
    if (upgrade === undefined) body.pipe(outgoing);
    else outgoing.end();
  });
}

function passedOn(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !notPassedOn.test(name)) passed[name] = Array.isArray(value) ? value.join(', ') : value;
  return passed;
}

/** As the client wrote it. */
const queryOf = (path: string): string => (path.includes('?') ? path.slice(path.indexOf('?')) : '');

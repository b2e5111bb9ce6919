import { request as httpRequest } from 'node:http';
import { upgradeHeader } from '@capstan/streams';
import { forward, queryOf } from '../../requests/forward.ts';
import type { NodeRoute, RoutedRequest } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { connectTo } from './port.ts';

type ProxyRequest = RoutedRequest<Extract<NodeRoute, { kind: 'proxy' }>>;

/** Serves `pods/proxy`: an HTTP request to a port of the unit. */
export async function serveUnitProxy(request: ProxyRequest, engine: Pick<UnitEngine, 'runs' | 'driverOf'>): Promise<void> {
  const { route, signal, method, path } = request;
  const connection = await connectTo(request, engine, route.port);
  if (connection === undefined) return;
  signal.addEventListener('abort', () => connection.destroy(), { once: true });
  const isUpgrade = request.headers[upgradeHeader] !== undefined;
  await forward(request, {
    target: `unit ${route.pod}`,
    begin: (headers) =>
      httpRequest({
        method: isUpgrade ? 'GET' : method,
        path: `${route.path}${queryOf(path)}`,
        headers: { ...(!isUpgrade && { connection: 'close' }), ...headers, host: `localhost:${route.port}` },
        createConnection: () => connection,
      }).on('error', () => connection.destroy()),
  });
}

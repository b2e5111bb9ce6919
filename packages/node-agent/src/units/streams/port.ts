import type { Duplex } from 'node:stream';
import { join } from '../../requests/join.ts';
import { type ContainerTarget, type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { portOf } from '../probes/port.ts';
import { refuseIdle, refuseUnknown } from './refusals.ts';
import { runFor } from './targets.ts';

/** Serves one connection of `pods/portforward`. */
export async function serveUnitPort(
  request: RoutedRequest<Extract<NodeRoute, { kind: 'portforward' }>>,
  engine: Pick<UnitEngine, 'runs' | 'driverOf'>,
): Promise<void> {
  const connection = await connectTo(request, engine, request.query.get('port') ?? '');
  if (connection === undefined) return;
  join(request.respond(200), connection);
}

/** Undefined if there is nothing to connect to, which the client was told. */
export async function connectTo(
  request: RoutedRequest<ContainerTarget & NodeRoute>,
  engine: Pick<UnitEngine, 'runs' | 'driverOf'>,
  wanted: string,
): Promise<Duplex | undefined> {
  const { route, signal } = request;
  const run = runFor(engine, route);
  if (run === undefined) return refusing(() => refuseUnknown(request, route));
  const port = portOf(run.record.spec, wanted);
  if (port === undefined)
    return refusing(() =>
      refuse(request, { code: 400, reason: 'BadRequest', message: `unit ${route.pod} has no port ${JSON.stringify(wanted)}` }),
    );
  const driver = engine.driverOf(run.record);
  if (run.live.room === undefined || driver === undefined) return refusing(() => refuseIdle(request, route.pod, run));
  try {
    const connection = await driver.connect(run.record.name, port);
    connection.on('error', () => {});
    if (!signal.aborted) return connection;
    connection.destroy();
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `nothing answers at port ${port} of unit ${route.pod}: ${why}`;
    return refusing(() => refuse(request, { code: 503, reason: 'ServiceUnavailable', message }));
  }
}

function refusing(refusal: () => void): undefined {
  refusal();
}

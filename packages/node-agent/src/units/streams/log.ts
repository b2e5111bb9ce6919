import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { unitContainer, uploadContainer } from '@capstan/api';
import { type LogSource, logOptions, readLog } from '@capstan/streams';
import { type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitDriver } from '../drivers/driver.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { readKeptLog } from '../engine/removal.ts';
import type { UnitRecord } from '../records/record.ts';
import { refuseContainer, refuseUnknown, refuseWaiting } from './refusals.ts';
import { removedFor, runFor } from './targets.ts';

export interface UnitLogOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'removed' | 'driverOf'>;
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
}

type LogRequest = RoutedRequest<Extract<NodeRoute, { kind: 'logs' | 'exec' | 'attach' }>>;

/** Serves `pods/log`. */
export async function serveUnitLog(request: LogRequest, { engine, folder }: UnitLogOptions): Promise<void> {
  const { route, query } = request;
  const { container, pod } = route;
  const options = logOptions(query, Date.now());
  if (typeof options === 'string') return refuse(request, { code: 400, reason: 'BadRequest', message: options });
  const run = runFor(engine, route);
  const record = run?.record ?? removedFor(engine, route);
  if (record === undefined) return refuseUnknown(request, route);
  if (container === uploadContainer && record.spec.upload) return void request.respond(200, { 'content-type': 'text/plain' }).end();
  if (container !== unitContainer) return refuseContainer(request, container, pod);
  if (run !== undefined && record.incarnation < 0 && !run.isFinal) return refuseWaiting(request, route, run);
  const driver = engine.driverOf(record);
  const keptRun = options.previous ? record.incarnation - 1 : record.incarnation;
  const kept: LogSource = () => readKeptLog(folder(record.name), keptRun);
  const source = await sourceOf(record, { driver, kept, previous: options.previous });
  if (source === undefined) {
    // An empty log would look like one of a program that has printed nothing.
    if (!options.previous && run !== undefined && !run.isFinal) return refuseWaiting(request, route, run);
    if (!options.previous) return void request.respond(200, { 'content-type': 'text/plain' }).end();
    const message = `previous terminated container "${container}" in pod "${pod}" not found`;
    return refuse(request, { code: 400, reason: 'BadRequest', message });
  }
  const stream = request.respond(200, { 'content-type': 'text/plain' });
  await pipeline(Readable.from(readLog(source, options, request.signal), { objectMode: false }), stream).catch((error: unknown) => {
    // The reader is gone, or the log: it must not look complete.
    if (!stream.destroyed) stream.destroy(error instanceof Error ? error : undefined);
  });
}

/** The log of the present program, or of the one before; undefined if there is none. The driver may forget the unit while it is read. */
async function sourceOf(
  { name, incarnation }: UnitRecord,
  { driver, kept, previous }: { readonly driver: UnitDriver | undefined; readonly kept: LogSource; readonly previous: boolean },
): Promise<LogSource | undefined> {
  // Starts that failed have a number and no log.
  for (let at = incarnation, isFirst = true; at >= 0 && driver !== undefined; at--) {
    if ((await driver.log(name, at)) === undefined) continue;
    if (!previous || !isFirst) return async () => (await kept()) ?? driver.log(name, at);
    isFirst = false;
  }
  return (await kept()) && kept;
}

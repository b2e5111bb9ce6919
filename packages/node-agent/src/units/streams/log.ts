import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { unitContainer, uploadContainer } from '@capstan/api';
import { type LogOptions, type LogSource, logOptions, readLog } from '@capstan/streams';
import { type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitDriver } from '../drivers/driver.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { pause } from '../engine/pause.ts';
import { readKeptLog } from '../engine/removal.ts';
import type { UnitRecord } from '../records/record.ts';
import { refuseContainer, refuseUnknown, refuseWaiting } from './refusals.ts';
import { isFor, removedFor, runFor } from './targets.ts';

export interface UnitLogOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'removed' | 'driverOf' | 'launched'>;
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
}

/** In milliseconds: how long a NodeUnit may take from the API server to this node. */
const arrival = 10_000;

type LogRequest = RoutedRequest<Extract<NodeRoute, { kind: 'logs' | 'exec' | 'attach' }>>;

/** Serves `pods/log`. With the parameter `start`, it waits for the first program of that NodeUnit. */
export async function serveUnitLog(request: LogRequest, { engine, folder }: UnitLogOptions): Promise<void> {
  const { route, query } = request;
  const { container, pod } = route;
  const options = logOptions(query, Date.now());
  if (typeof options === 'string') return refuse(request, { code: 400, reason: 'BadRequest', message: options });
  const start = query.get('start');
  if (start !== null && container === unitContainer) return serveFromStart(request, { start, options }, { engine, folder });
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
  await send(request.respond(200, { 'content-type': 'text/plain' }), readLog(source, options, request.signal));
}

/** The log of a NodeUnit that may not be here yet. The answer begins before the program does, so that its first line finds everything prepared. */
async function serveFromStart(
  request: LogRequest,
  { start, options }: { readonly start: string; readonly options: LogOptions },
  { engine, folder }: UnitLogOptions,
): Promise<void> {
  const { route, signal } = request;
  const run = await engine.launched(start, AbortSignal.any([signal, AbortSignal.timeout(arrival)])).catch(() => undefined);
  if (run === undefined || !isFor(run.record.spec.owner, route)) return refuseUnknown(request, route);
  const stream = request.respond(200, { 'content-type': 'text/plain' });
  await Promise.race([run.begun, pause(Number.POSITIVE_INFINITY, signal)]);
  if (signal.aborted) return void stream.destroy();
  const { record } = run;
  const driver = engine.driverOf(record);
  const source = await sourceOf(record, { driver, kept: () => readKeptLog(folder(record.name), record.incarnation), previous: false });
  // It has ended without a program.
  if (source === undefined) return void stream.end();
  await send(stream, readLog(source, options, signal));
}

async function send(stream: Writable, log: AsyncIterable<Buffer>): Promise<void> {
  await pipeline(Readable.from(log, { objectMode: false }), stream).catch((error: unknown) => {
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

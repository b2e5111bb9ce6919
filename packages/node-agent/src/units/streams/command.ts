import { unitContainer, uploadContainer } from '@capstan/api';
import { type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { RoomStreams, UnitDriver } from '../drivers/driver.ts';
import type { UnitEngine } from '../engine/engine.ts';
import type { UnitRun } from '../engine/unit-run.ts';
import { bridge } from './bridge.ts';
import { refuseContainer, refuseFailed, refuseIdle, refuseUnknown, refuseWaiting } from './refusals.ts';
import { runFor } from './targets.ts';
import { serveUpload, type UploadFolders } from './upload.ts';

type CommandRequest = RoutedRequest<Extract<NodeRoute, { kind: 'logs' | 'exec' | 'attach' }>>;

export interface UnitCommandOptions {
  readonly engine: Pick<UnitEngine, 'runs' | 'driverOf'>;
  readonly uploads: UploadFolders;
}

/** Serves `pods/exec`: another command beside the program. */
export async function serveUnitExec(request: CommandRequest, { engine }: UnitCommandOptions): Promise<void> {
  const command = request.query.getAll('command');
  if (command.length === 0) return refuse(request, { code: 400, reason: 'BadRequest', message: 'expected a command' });
  const { stdin, tty } = optionsOf(request);
  await serve(request, engine, async ({ record: { name } }, driver) => knownEnd(await driver.exec(name, { command, stdin, tty })));
}

/** A command whose end nobody has seen did not succeed. */
function knownEnd(streams: RoomStreams): RoomStreams {
  const exited = streams.exited.then((code) => {
    if (code === undefined) throw new Error('the unit ended before the command, whose exit code is not known');
    return code;
  });
  // Nobody waits for it if the client has left.
  exited.catch(() => {});
  return { ...streams, exited };
}

/** Serves `pods/attach`: the program itself, or the files for it. */
export async function serveUnitAttach(request: CommandRequest, { engine, uploads }: UnitCommandOptions): Promise<void> {
  const { route } = request;
  if (route.container === uploadContainer) {
    const run = runFor(engine, route);
    if (run === undefined) return refuseUnknown(request, route);
    if (!run.record.spec.upload) return refuseContainer(request, route.container, route.pod);
    return serveUpload(request, run, uploads);
  }
  const { stdin } = optionsOf(request);
  await serve(request, engine, ({ record: { name } }, driver) => driver.attach(name, { stdin }));
}

async function serve(
  request: CommandRequest,
  engine: UnitCommandOptions['engine'],
  open: (run: UnitRun, driver: UnitDriver) => Promise<RoomStreams>,
): Promise<void> {
  const { route } = request;
  const run = runFor(engine, route);
  if (run === undefined) return refuseUnknown(request, route);
  if (route.container !== unitContainer) return refuseContainer(request, route.container, route.pod);
  const driver = engine.driverOf(run.record);
  if (run.record.incarnation < 0 && !run.isFinal) return refuseWaiting(request, route, run);
  if (run.live.room === undefined || driver === undefined) return refuseIdle(request, route.pod, run);
  let streams: RoomStreams;
  try {
    streams = await open(run, driver);
  } catch (error) {
    return refuseFailed(request, error);
  }
  if (request.signal.aborted) return streams.close();
  await bridge(request.respond(200), streams, optionsOf(request));
}

function optionsOf({ query }: CommandRequest): { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean } {
  const isSet = (name: string): boolean => query.get(name) === 'true';
  return { stdin: isSet('stdin'), stdout: isSet('stdout'), stderr: isSet('stderr'), tty: isSet('tty') };
}

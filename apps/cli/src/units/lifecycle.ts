import type { GPUUnit } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { exitCodes, Failure } from '../failure.ts';
import { Foreground } from './foreground.ts';
import { Progress } from './progress.ts';
import { isOver, outcomeOf, phaseOf, progressOf } from './state.ts';
import { answered, findUnit, openUnits, type UnitFlags, type Units } from './units.ts';
import { filesToUpload } from './upload/working-directory.ts';
import { unitUntil, watchUnit } from './watch.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

export interface StopFlags extends UnitFlags {
  /** False with `--no-wait`. */
  readonly wait: boolean;
}

const setRunning = (units: Units, name: string, running: boolean): Promise<GPUUnit> =>
  answered(units, units.resource.patch(name, { type: 'merge', patch: { spec: { running } } }));

/** Stops units. Their allocations are released; they can be started again. */
export async function stopUnits(names: readonly string[], { wait, ...flags }: StopFlags): Promise<void> {
  using units = openUnits(flags);
  await Promise.all(
    names.map(async (name) => {
      const { metadata } = await setRunning(units, name, false);
      if (wait) await unitUntil(units, { name, uid: metadata.uid }, isOver);
      write(wait ? `${name}: stopped` : `${name}: stopping`);
    }),
  );
}

/** Starts units that were stopped or have ended. */
export async function startUnits(names: readonly string[], flags: UnitFlags & { readonly maxUpload?: string }): Promise<void> {
  using units = openUnits(flags);
  const progress = new Progress();
  for (const name of names) {
    const unit = await findUnit(units, name);
    if (unit.spec.running && !isOver(unit)) {
      write(`${name}: ${progressOf(unit)}`);
      continue;
    }
    // A unit that has ended by itself still wants to run. It starts again after it was seen stopped.
    if (unit.spec.running) {
      const { metadata } = await setRunning(units, name, false);
      await unitUntil(units, { name, uid: metadata.uid }, (seen) => isOver(seen) && seen.status?.phase === 'Stopped');
    }
    const listing = unit.spec.upload ? filesToUpload(process.cwd(), flags.maxUpload, progress) : undefined;
    const started = await setRunning(units, name, true);
    // The node has kept no files of the start before.
    await new Foreground({ units, unit: started, listing, progress, tty: false }).upload();
    write(`${name}: starting. Next: capstan logs -f ${name}`);
  }
}

export interface RemoveFlags extends UnitFlags {
  readonly force?: boolean;
  readonly wait: boolean;
}

/** Deletes units. Running ones only with `force`. */
export async function removeUnits(names: readonly string[], { force, wait, ...flags }: RemoveFlags): Promise<void> {
  using units = openUnits(flags);
  for (const name of names) {
    const unit = await findUnit(units, name);
    if (!isOver(unit) && force !== true)
      throw new Failure(
        'usage',
        `${name} has not ended: ${progressOf(unit)}. Stop it with "capstan stop ${name}", or delete it anyway with "capstan rm --force ${name}".`,
      );
    await answered(units, units.resource.delete(name)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    // Ends when the unit is gone.
    if (wait) for await (const _ of watchUnit(units, { name, uid: unit.metadata.uid }));
    write(`${name}: ${wait ? 'deleted' : 'deleting'}`);
  }
}

export interface WaitFlags extends UnitFlags {
  readonly for: 'running' | 'ready' | 'ended' | 'deleted';
  readonly timeout?: number;
}

/** Waits for a state. Resolves with the exit code of the program for `ended`, 1 if the state is not reached any more, and 124 after the timeout. */
export async function waitFor(name: string, { for: state, timeout, ...flags }: WaitFlags): Promise<number> {
  using units = openUnits(flags);
  const found = await findUnit(units, name).catch((error: unknown) => {
    if (state === 'deleted' && error instanceof Failure) return undefined;
    throw error;
  });
  if (found === undefined) return 0;
  const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout * 1000);
  const isDone = (unit: GPUUnit): boolean => (state === 'deleted' ? false : isOver(unit) || isReached(unit, state));
  const unit = await unitUntil(units, { name, uid: found.metadata.uid, signal: late }, isDone);
  if (late?.aborted === true) {
    process.stderr.write(`capstan: ${name} is not ${state} after ${timeout} s: ${progressOf(await findUnit(units, name))}.\n`);
    return 124;
  }
  if (state === 'deleted') return 0;
  if (unit === undefined) throw new Failure('unexpected', `the unit ${name} was deleted.`);
  if (state === 'ended') return unit.status?.exitCode ?? (unit.status?.phase === 'Failed' ? exitCodes.notRun : 0);
  if (isReached(unit, state)) return 0;
  process.stderr.write(`capstan: ${name} has ended before it was ${state}: ${outcomeOf(unit) ?? phaseOf(unit)}\n`);
  return 1;
}

function isReached(unit: GPUUnit, state: WaitFlags['for']): boolean {
  if (state === 'ready') return unit.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  return state === 'running' && phaseOf(unit) === 'Running';
}

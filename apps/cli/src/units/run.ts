import { type GPUUnit, gpuUnitKind, newObject } from '@capstan/api';
import { Failure } from '../failure.ts';
import { onceServed } from '../workspaces/once-served.ts';
import { Foreground } from './foreground.ts';
import { defaultOffering } from './offering-choice.ts';
import { Progress } from './progress.ts';
import { nameFor, programOf, resourcesOf, type SpecFlags } from './spec.ts';
import { answered, openUnits, type UnitFlags, type Units } from './units.ts';
import { filesToUpload } from './upload/working-directory.ts';

export interface RunFlags extends UnitFlags, SpecFlags {
  readonly name?: string;
  readonly detach?: boolean;
  readonly rm?: boolean;
  /** False with `--no-upload`. */
  readonly upload: boolean;
  readonly maxUpload?: string;
  readonly quiet?: boolean;
}

/** Creates a unit, uploads the working directory, and follows the program to its end. Resolves with its exit code. */
export async function runUnit(command: readonly string[], flags: RunFlags): Promise<number> {
  const program = programOf(command, flags);
  const resources = resourcesOf(flags);
  if (flags.tty === true && flags.detach !== true && process.stdin.isTTY !== true)
    throw new Failure('usage', '--tty needs a terminal. Leave it out, or use --detach and "capstan attach" later.');
  const progress = new Progress({ isQuiet: flags.quiet === true });
  const found = flags.upload ? filesToUpload(process.cwd(), flags.maxUpload, progress) : undefined;
  const listing = found?.entries.length === 0 ? undefined : found;
  using units = openUnits(flags);
  const order = async (): Promise<GPUUnit> => {
    const offering = resources === undefined ? (flags.offering ?? (await defaultOffering(units))) : undefined;
    return create(units, {
      metadata: { name: flags.name ?? nameFor(command, flags.image), namespace: units.namespace },
      spec: { ...program, ...(offering === undefined ? { resources } : { offering }), upload: listing !== undefined },
    });
  };
  const unit = await onceServed({ client: units.client, kind: gpuUnitKind }, order, {
    onWait: () => progress.show('Waiting: the project is being set up'),
  });
  const { name = '' } = unit.metadata;
  const foreground = new Foreground({ units, unit, listing, progress, tty: flags.tty === true });
  if (flags.detach !== true) return foreground.run({ isRemoved: flags.rm === true });
  await foreground.upload();
  process.stdout.write(`${name}\n`);
  if (flags.quiet !== true) progress.say(`Next: capstan logs -f ${name} · capstan shell ${name} · capstan stop ${name}`);
  return 0;
}

function create(units: Units, given: { metadata: GPUUnit['metadata']; spec: object }): Promise<GPUUnit> {
  return answered(
    units,
    units.resource.create(newObject(gpuUnitKind, given as Parameters<typeof newObject<typeof gpuUnitKind>>[1]) as GPUUnit),
  );
}

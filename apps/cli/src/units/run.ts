import { homedir } from 'node:os';
import { parse } from 'node:path';
import { type GPUUnit, gpuUnitKind, newObject } from '@capstan/api';
import { parseQuantity, QuantityError, scaledValue } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { Foreground } from './foreground.ts';
import { defaultOffering } from './offering-choice.ts';
import { Progress } from './progress.ts';
import { nameFor, programOf, resourcesOf, type SpecFlags } from './spec.ts';
import { answered, openUnits, type UnitFlags, type Units } from './units.ts';
import { defaultLimits, type Listing, listFiles } from './upload/listing.ts';
import { formatBytes, shownPath } from './words.ts';

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
  const listing = flags.upload ? filesToUpload(process.cwd(), flags.maxUpload, progress) : undefined;
  using units = openUnits(flags);
  const offering = resources === undefined ? (flags.offering ?? (await defaultOffering(units))) : undefined;
  const unit = await create(units, {
    metadata: { name: flags.name ?? nameFor(command, flags.image), namespace: units.namespace },
    spec: { ...program, ...(offering === undefined ? { resources } : { offering }), upload: listing !== undefined },
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

/** The files of the working directory; undefined if there are none. */
function filesToUpload(directory: string, most: string | undefined, progress: Progress): Listing | undefined {
  if (directory === homedir() || directory === parse(directory).root)
    throw new Failure(
      'usage',
      `capstan run uploads the working directory, and ${directory} is too much. Go to the folder of your program, or use --no-upload.`,
    );
  const listing = listFiles(directory, { ...defaultLimits, ...(most !== undefined && { total: bytesIn(most), file: bytesIn(most) }) });
  for (const { path, why } of listing.leftOut.slice(0, 5)) progress.say(`Not uploaded: ${shownPath(path)}: ${why}.`);
  if (listing.leftOut.length > 5) progress.say(`Not uploaded: ${listing.leftOut.length - 5} more.`);
  if (listing.entries.length === 0) return undefined;
  progress.show(`Uploading ${listing.files} files, ${formatBytes(listing.bytes)}`);
  return listing;
}

function bytesIn(text: string): number {
  try {
    return Number(scaledValue(parseQuantity(text)));
  } catch (error) {
    if (error instanceof QuantityError)
      throw new Failure('usage', `--max-upload: expected an amount such as 2Gi, found ${JSON.stringify(text)}.`, error);
    throw error;
  }
}

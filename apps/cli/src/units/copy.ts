import { Failure } from '../failure.ts';
import { download } from './copying/download.ts';
import { upload } from './copying/upload.ts';
import { Progress } from './progress.ts';
import { requireRunning } from './shell.ts';
import { findUnit, openUnits, type UnitFlags } from './units.ts';

export interface CopyFlags extends UnitFlags {
  readonly continue?: boolean;
}

/** A path here, or in a unit. */
export type Place = { readonly unit: string; readonly path: string } | { readonly unit?: undefined; readonly path: string };

/** `unit:path`, or a path here. A path here with a colon begins with `./` or `/`. */
export function placeOf(text: string): Place {
  const [, unit, path = ''] = /^([a-z0-9][-a-z0-9.]*):(.*)$/s.exec(text) ?? [];
  return unit === undefined ? { path: text } : { unit, path: path === '' ? '.' : path };
}

/** Copies a file or folder into a unit, or out of one, as `cp -r` does. */
export async function copy(from: string, to: string, flags: CopyFlags): Promise<void> {
  const [source, target] = [placeOf(from), placeOf(to)];
  if ((source.unit === undefined) === (target.unit === undefined))
    throw new Failure(
      'usage',
      'expected one path here and one in a unit, such as: capstan cp results.csv training:/data, or: capstan cp training:/data/out .',
    );
  using units = openUnits(flags);
  const name = (source.unit ?? target.unit)!;
  requireRunning(await findUnit(units, name), name);
  const progress = new Progress();
  const copying = { pod: { units, name }, progress, isContinued: flags.continue };
  try {
    if (target.unit === undefined) await download(copying, source.path, target.path);
    else await upload(copying, source.path, target.path);
  } finally {
    progress.clear();
  }
}

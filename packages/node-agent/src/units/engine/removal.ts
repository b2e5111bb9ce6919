import { access, copyFile, link, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { closeSizedFolder, type SizedFolder } from '../../disks/sized-folder.ts';
import type { RoomLog, UnitDriver } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';
import type { SecretStore } from '../secrets/store.ts';

export interface Traces {
  readonly driver: UnitDriver | undefined;
  readonly secrets: SecretStore;
  /** The folder of the unit. */
  readonly folder: string;
}

/** Where the uploaded files of a unit are, and its logs once the driver has forgotten it. */
export const uploadsIn = (folder: string): string => join(folder, 'uploads');
/** Uploads may have a size. */
export const uploadRoom = (folder: string): SizedFolder => ({ image: `${uploadsIn(folder)}.image`, point: uploadsIn(folder) });
const logsIn = (folder: string): string => join(folder, 'logs');

/** How many of the latest logs are kept. */
const keptRuns = 2;

/** Removes everything of a unit that has ended, except its record and its latest logs. Can be repeated. */
export async function removeTraces({ name, incarnation }: UnitRecord, { driver, secrets, folder }: Traces): Promise<void> {
  await secrets.remove(name);
  if (driver !== undefined && driver.isolation !== undefined) {
    await driver.stop(name, 0);
    for (let run = incarnation; run >= 0 && run > incarnation - keptRuns; run--) await keepLog(driver, { name, run, folder });
    await driver.remove(name);
  }
  await closeSizedFolder(uploadRoom(folder));
  await rm(uploadsIn(folder), { recursive: true, force: true });
  await rm(`${uploadsIn(folder)}.new`, { recursive: true, force: true });
}

/** All files of a log appear at once, so that nobody reads half of it. */
async function keepLog(driver: UnitDriver, { name, run, folder }: { name: string; run: number; folder: string }): Promise<void> {
  const kept = keptLog(folder, run);
  const log = await driver.log(name, run);
  if (log === undefined || (await isThere(kept))) return;
  const draft = `${kept}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await Promise.all(
    log.files.map(async (file, index) => {
      const part = join(draft, String(index).padStart(4, '0'));
      // Another file system needs a copy.
      await link(file, part).catch(() => copyFile(file, part).catch(() => {}));
    }),
  );
  await rename(draft, kept);
}

/** The folder with the log of one run of the program, in parts that are named in their order. */
const keptLog = (folder: string, run: number): string => join(logsIn(folder), String(run));

/** The log of one run of a program whose unit the driver has forgotten; undefined if there is none. */
export async function readKeptLog(folder: string, run: number): Promise<RoomLog | undefined> {
  const place = keptLog(folder, run);
  const names = await readdir(place).catch(() => undefined);
  return names && { files: names.sort().map((name) => join(place, name)), complete: true };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

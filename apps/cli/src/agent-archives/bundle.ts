import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';

/** The bundled command, which is the content of an archive. */
export interface Bundle extends Disposable {
  readonly directory: string;
}

/** Where a bundle is if this code is a part of it. */
const ownBundle = resolve(import.meta.dirname, '..');
const sources = resolve(import.meta.dirname, '../../../..');

export const isBundled = existsSync(join(ownBundle, 'lib/main.js'));

/** The license of Capstan; undefined if the installation has none. */
export function licenseFile(): string | undefined {
  return [join(ownBundle, '../LICENSE'), join(sources, 'LICENSE')].find((file) => existsSync(file));
}

/** The bundle that this program runs from. Running from sources, a new one, so that the archive never contains older code than this program. */
export async function bundle(): Promise<Bundle> {
  if (isBundled) return { directory: ownBundle, [Symbol.dispose]: () => {} };
  const script = join(sources, 'apps/cli/scripts/build.ts');
  if (!existsSync(script)) throw new Failure('unexpected', `there is neither a bundle of the command nor ${script}, which makes one.`);
  const directory = mkdtempSync(join(tmpdir(), 'capstan-bundle-'));
  const made: Bundle = { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
  try {
    await promisify(execFile)(process.execPath, [script, '--output', directory]);
    return made;
  } catch (error) {
    made[Symbol.dispose]();
    throw new Failure('unexpected', `the command could not be bundled: ${(error as Error).message}`, error);
  }
}

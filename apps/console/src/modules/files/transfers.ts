import { bytes } from '../format/format.ts';
import type { ContainerPlace } from '../terminal/paths.ts';
import { type Listing, listScript, parseListing } from './listing.ts';
import { CommandFailure, type CommandRequest, runCommand } from './run-command.ts';

/** In bytes: a download is in the memory of the browser until it is complete. */
export const mostDownloaded = 256 * 1024 ** 2;
export const mostUploaded = 1024 ** 3;
const longestListing = 16 * 1024 ** 2;

const script = (text: string, ...args: readonly string[]): readonly string[] => ['sh', '-c', text, 'sh', ...args];

type Watched = Pick<CommandRequest, 'onProgress' | 'signal' | 'open'>;

export async function listFolder(place: ContainerPlace, folder: string, watched: Watched = {}): Promise<Listing> {
  const output = await runCommand(place, { ...watched, command: script(listScript, folder), mostOutput: longestListing });
  return parseListing(new Uint8Array(await output.arrayBuffer()));
}

/** A folder is read as an archive. Devices and pipes would never end. */
export const readScript = `if [ -d "$1" ]; then cd -- "$1" && exec tar -c -f - .
elif [ -f "$1" ]; then exec cat -- "$1"
else echo 'it is neither a file nor a folder' >&2; exit 1; fi`;

export function readFile(place: ContainerPlace, path: string, watched: Watched = {}): Promise<Blob> {
  return runCommand(place, { ...watched, command: script(readScript, path), mostOutput: mostDownloaded });
}

/** Writes beside the file and then replaces it, so that a file is never half of an upload. Anything that ends the script early removes its part. */
export const writeScript = `[ ! -d "$1" ] || { echo 'a folder has this name' >&2; exit 1; }
part="$1.upload.$$"
trap 'rm -f -- "$part"' EXIT
trap 'exit 1' HUP INT TERM
cat > "$part" || exit
[ "$(wc -c < "$part")" -eq "$2" ] || { echo 'the upload was cut short' >&2; exit 1; }
mv -f -- "$part" "$1"`;

export async function writeFile(
  place: ContainerPlace,
  path: string,
  { file, ...watched }: Watched & { readonly file: Blob },
): Promise<void> {
  if (file.size > mostUploaded)
    throw new CommandFailure(
      `It has ${bytes(file.size)}, and a page uploads at most ${bytes(mostUploaded)}. Use capstan cp for larger files.`,
    );
  await runCommand(place, { ...watched, command: script(writeScript, path, String(file.size)), input: file, mostOutput: 1 << 16 });
}

/** Why a file of this size cannot be downloaded here; undefined if it can. */
export const sizeProblem = (size: number | undefined): string | undefined =>
  size !== undefined && size > mostDownloaded
    ? `It has ${bytes(size)}, and a page downloads at most ${bytes(mostDownloaded)}. Use capstan cp for larger files.`
    : undefined;

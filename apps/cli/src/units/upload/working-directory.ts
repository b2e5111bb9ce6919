import { homedir } from 'node:os';
import { parse } from 'node:path';
import { Failure } from '../../failure.ts';
import { bytesIn } from '../amounts.ts';
import type { Progress } from '../progress.ts';
import { formatBytes, shownPath } from '../words.ts';
import { defaultLimits, type Listing, listFiles } from './listing.ts';

/** The files of the working directory. Says which ones are left out. */
export function filesToUpload(directory: string, most: string | undefined, progress: Progress): Listing {
  if (directory === homedir() || directory === parse(directory).root)
    throw new Failure(
      'usage',
      `capstan run uploads the working directory, and ${directory} is too much. Go to the folder of your program, or use --no-upload.`,
    );
  const listing = listFiles(directory, {
    ...defaultLimits,
    ...(most !== undefined && { total: bytesIn('--max-upload', most), file: bytesIn('--max-upload', most) }),
  });
  for (const { path, why } of listing.leftOut.slice(0, 5)) progress.say(`Not uploaded: ${shownPath(path)}: ${why}.`);
  if (listing.leftOut.length > 5) progress.say(`Not uploaded: ${listing.leftOut.length - 5} more.`);
  if (listing.files > 0) progress.show(`Files to upload: ${listing.files}, ${formatBytes(listing.bytes)}`);
  return listing;
}

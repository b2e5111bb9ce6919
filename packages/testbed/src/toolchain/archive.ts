import { inflateRawSync } from 'node:zlib';

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const endLength = 22;
const stored = 0;
const deflated = 8;

/**
 * The files in a zip archive, by name, each unpacked when it is reached. Supports what module archives use: no encryption, no second
 * volume, no 64-bit sizes.
 */
export function* filesInArchive(archive: Buffer): Generator<{ readonly name: string; readonly content: Buffer }> {
  const end = endOfDirectory(archive);
  const count = archive.readUInt16LE(end + 10);
  let place = archive.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (archive.readUInt32LE(place) !== entrySignature)
      throw new Error(`expected entry ${index + 1} of ${count} of the archive at ${place}; it is damaged`);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => archive.readUInt16LE(place + offset)) as [
      number,
      number,
      number,
    ];
    const name = archive.toString('utf8', place + 46, place + 46 + nameLength);
    if (!name.endsWith('/')) yield { name, content: contentOf(archive, place, name) };
    place += 46 + nameLength + extraLength + commentLength;
  }
}

/** The directory ends with a record that only a comment can follow. */
function endOfDirectory(archive: Buffer): number {
  for (let place = archive.length - endLength; place >= 0; place--) if (archive.readUInt32LE(place) === endSignature) return place;
  throw new Error(`expected a zip archive, found ${archive.length} bytes without a zip directory`);
}

function contentOf(archive: Buffer, entry: number, name: string): Buffer {
  const method = archive.readUInt16LE(entry + 10);
  const header = archive.readUInt32LE(entry + 42);
  const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
  const packed = archive.subarray(start, start + archive.readUInt32LE(entry + 20));
  if (method === stored) return packed;
  if (method === deflated) return inflateRawSync(packed);
  throw new Error(`${name} is packed by method ${method}; expected ${stored} (stored) or ${deflated} (deflated)`);
}

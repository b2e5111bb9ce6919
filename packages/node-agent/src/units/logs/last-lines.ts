import { open } from 'node:fs/promises';
import { parseLine } from '@capstan/streams';
import type { UnitDriver } from '../drivers/driver.ts';

/** As in the status of a NodeUnit. */
const mostLines = 10;
const longestLine = 1024;
/** In bytes, of each file. */
const tail = 64 << 10;

/** The end of the output of a program. Empty if it cannot be read. */
export async function lastLines(driver: Pick<UnitDriver, 'log'>, id: string, incarnation: number): Promise<string[]> {
  const found = await driver.log(id, incarnation).catch(() => undefined);
  let lines: string[] = [];
  for (const file of [...(found?.files ?? [])].reverse()) {
    lines = [...linesIn(await endOf(file)), ...lines].slice(-mostLines);
    if (lines.length === mostLines) break;
  }
  return lines;
}

function linesIn(bytes: Buffer): string[] {
  const lines: string[] = [];
  let text = '';
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    const line = parseLine(bytes.subarray(start, end));
    start = end + 1;
    if (line === undefined) continue;
    if (text.length < longestLine) text += line.text.toString('utf8');
    if (line.isPartial && start < bytes.length) continue;
    lines.push(text.replace(/\r$/, '').replaceAll('\0', '').toWellFormed().slice(0, longestLine).toWellFormed());
    text = '';
  }
  return lines;
}

/** The last bytes of a file, from the beginning of a line. */
async function endOf(file: string): Promise<Buffer> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return Buffer.alloc(0);
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, tail);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const bytes = buffer.subarray(0, bytesRead);
    return size > length ? bytes.subarray(bytes.indexOf(10) + 1) : bytes;
  } catch {
    return Buffer.alloc(0);
  } finally {
    await handle.close();
  }
}

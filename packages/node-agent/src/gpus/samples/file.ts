import { excerpt } from '../errors.ts';
import { GpuHistory, type HistoryOptions } from './history.ts';
import type { Ring } from './ring.ts';

const format = 'capstan-gpu-samples-1';
const maxHeader = 1024 * 1024;

interface Part {
  readonly uuid: string;
  readonly readings: number;
  readonly processes: number;
}

/** The history as bytes: a line of JSON that says what follows, and then the rows of each ring as a time (64 bits) and its numbers (32 bits each). */
export function encodeHistory(history: GpuHistory): Buffer {
  const gpus = [...history.gpus];
  const header = {
    format,
    gpus: gpus.map(([uuid, { readings, processes }]): Part => ({ uuid, readings: readings.length, processes: processes.length })),
  };
  const rows = gpus.flatMap(([, { readings, processes }]) => [encodeRing(readings), encodeRing(processes)]);
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...rows]);
}

function encodeRing(ring: Ring): Buffer {
  const size = rowSize(ring);
  const bytes = Buffer.alloc(ring.length * size);
  let offset = 0;
  ring.between(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, (at, row) => {
    bytes.writeDoubleLE(at, offset);
    for (const [column, value] of row.entries()) bytes.writeFloatLE(value, offset + 8 + 4 * column);
    offset += size;
  });
  return bytes;
}

function rowSize({ columns }: Ring): number {
  return 8 + 4 * columns;
}

/** The history in a file; an error if the file is not whole. */
export function decodeHistory(bytes: Buffer, options: Partial<HistoryOptions> = {}): GpuHistory {
  const end = bytes.subarray(0, maxHeader).indexOf(0x0a);
  const gpus = headerOf(bytes.subarray(0, Math.max(end, 0)).toString('utf8'));
  const history = new GpuHistory(options);
  let offset = end + 1;
  for (const { uuid, readings, processes } of gpus) {
    const rings = history.ringsOf(uuid);
    offset = decodeRing(rings.readings, { bytes, offset, rows: readings });
    offset = decodeRing(rings.processes, { bytes, offset, rows: processes });
  }
  if (offset !== bytes.length) throw new Error(`expected ${offset} bytes of GPU samples, found ${bytes.length}`);
  return history;
}

function headerOf(line: string): readonly Part[] {
  const parsed: unknown = line === '' ? undefined : JSON.parse(line);
  const header = parsed as { readonly format?: unknown; readonly gpus?: unknown } | undefined | null;
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  const isPart = (part: unknown): part is Part => {
    const { uuid, readings, processes } = (part ?? {}) as Partial<Part>;
    return typeof uuid === 'string' && isCount(readings) && isCount(processes);
  };
  if (header?.format !== format || !Array.isArray(header.gpus) || !header.gpus.every(isPart)) {
    throw new Error(`expected a file of GPU samples (${format}), found "${excerpt(line)}"`);
  }
  return header.gpus;
}

function decodeRing(ring: Ring, { bytes, offset, rows }: { bytes: Buffer; offset: number; rows: number }): number {
  const size = rowSize(ring);
  const end = offset + rows * size;
  if (end > bytes.length) throw new Error(`expected ${end} bytes of GPU samples, found ${bytes.length}`);
  for (let at = offset; at < end; at += size) {
    ring.push(
      bytes.readDoubleLE(at),
      Array.from({ length: ring.columns }, (_, column) => bytes.readFloatLE(at + 8 + 4 * column)),
    );
  }
  return end;
}

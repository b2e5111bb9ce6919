import type { UnreachableGpu } from '@capstan/api';

const absentWords = new Set([
  '',
  '-',
  'n/a',
  'none',
  'not supported',
  'not available',
  'not applicable',
  'disabled',
  'insufficient permissions',
]);

/** A field of a tool's output: a value, nothing because the card does not have it, or an error of the driver. */
export type Measure = { readonly kind: 'value'; readonly value: number } | { readonly kind: 'absent' } | { readonly kind: 'unreadable' };

const absent: Measure = { kind: 'absent' };
const unreadable: Measure = { kind: 'unreadable' };

/** The text without the brackets that CSV output puts around words: `[N/A]`. */
export function unbracketed(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith('[') && trimmed.endsWith(']') ? trimmed.slice(1, -1).trim() : trimmed;
}

export function isAbsentWord(text: string): boolean {
  const word = unbracketed(text).toLowerCase();
  return absentWords.has(word) || word.startsWith('requested functionality has been deprecated');
}

/** Reads `143771 MiB`, `133.70 W` or `43`; the unit must be the given one, or missing. */
export function readMeasure(text: string | undefined, unit: string): Measure {
  if (text === undefined || isAbsentWord(text)) return absent;
  const match = /^(-?\d{1,15}(?:\.\d{1,6})?)(?:\s+(\S+))?$/.exec(text.trim());
  if (match === null || (match[2] !== undefined && match[2] !== unit)) return unreadable;
  return { kind: 'value', value: Number(match[1]) };
}

export const mebibyte = 1024 * 1024;

/** `0000:1b:00.0`, from `00000000:1B:00.0`; undefined for anything else. */
export function normalBusId(text: string): string | undefined {
  const match = /^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$/i.exec(text.trim());
  if (match === null) return undefined;
  const domain = Number.parseInt(match[1] ?? '0', 16)
    .toString(16)
    .padStart(4, '0');
  return `${domain}:${match[2]}:${match[3]}.${match[4]}`.toLowerCase();
}

const handleMessage =
  /Unable to determine the device handle for GPU(?:\d{1,3}:)?\s*((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):\s*([^\n]{1,200})/gi;

/** The GPUs that nvidia-smi names as lost, beside or instead of its output. */
export function unreachableIn(text: string): UnreachableGpu[] {
  const found = new Map<string, UnreachableGpu>();
  for (const [, bus, why] of text.matchAll(handleMessage)) {
    const pciBusId = normalBusId(bus!);
    if (pciBusId !== undefined) found.set(pciBusId, { pciBusId, why: why!.replaceAll(/\s+/g, ' ').trim() });
  }
  return [...found.values()];
}

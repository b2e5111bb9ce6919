import { type Fields, fieldsOf, isObject, textOf } from '@capstan/machinery';
import { excerpt, GpuError } from '../errors.ts';
import { isAbsentWord, mebibyte } from '../text/measure.ts';

/** Parses the JSON of AMD's tools, which may print warnings before it. */
export function parseOutput(text: string, tool: string): unknown {
  const start = text.search(/^\s*[[{]/m);
  if (start === -1) throw failureOf(text, tool);
  try {
    return JSON.parse(text.slice(start));
  } catch (cause) {
    const code = /[\]}]\s*$/.test(text) ? 'Malformed' : 'Incomplete';
    throw new GpuError(code, `expected JSON from ${tool}, found "${excerpt(text.slice(-80))}"`, { cause });
  }
}

function failureOf(text: string, tool: string): GpuError {
  const said = `${tool} says "${excerpt(text)}"`;
  if (text.trim() === '') return new GpuError('Incomplete', `${tool} printed nothing`);
  if (/driver not (?:initialized|loaded)|no amdgpu|AMDSMI_STATUS_(?:NO_DRV|DRIVER_NOT_LOADED|INIT_ERROR)|not initialized/i.test(text)) {
    return new GpuError('DriverUnavailable', said);
  }
  return new GpuError('Malformed', said);
}

/** The entries of one amd-smi command, by the number of the GPU. Newer versions wrap them in `gpu_data`. */
export function entriesOf(text: string, tool: string): Map<number, Readonly<Fields>> {
  const parsed = parseOutput(text, tool);
  const list = isObject(parsed) ? parsed['gpu_data'] : parsed;
  if (!Array.isArray(list)) throw new GpuError('Malformed', `expected a list of GPUs from ${tool}, found "${excerpt(text)}"`);
  const entries = new Map<number, Readonly<Fields>>();
  for (const item of list) {
    const number = fieldsOf(item)['gpu'];
    if (typeof number !== 'number' || entries.has(number)) {
      throw new GpuError('Malformed', `expected each GPU once with its number from ${tool}, found "${excerpt(JSON.stringify(item))}"`);
    }
    entries.set(number, fieldsOf(item));
  }
  return entries;
}

/** The value at a path such as `mem_usage.used_vram`; undefined if any part is missing or not an object. */
export function at(entry: Readonly<Fields>, path: string): unknown {
  let found: unknown = entry;
  for (const name of path.split('.')) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

export function textAt(entry: Readonly<Fields>, path: string): string | undefined {
  const value = at(entry, path);
  return typeof value === 'string' && !isAbsentWord(value) ? value : undefined;
}

const factors: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['KB', 1024],
  ['MB', mebibyte],
  ['GB', 1024 * mebibyte],
]);

/** A number, or `{value, unit}`, or a number in a text. Undefined if the card does not have it. */
export function numberAt(entry: Readonly<Fields>, path: string): number | undefined {
  const value = at(entry, path);
  const bare = isObject(value) ? value['value'] : value;
  const number = typeof bare === 'string' && /^-?\d{1,15}(?:\.\d{1,6})?$/.test(bare) ? Number(bare) : bare;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** An amount of memory in bytes. Without a unit it is in bytes already. AMD's MB are mebibytes. */
export function bytesAt(entry: Readonly<Fields>, path: string): number | undefined {
  const value = at(entry, path);
  const number = numberAt(entry, path);
  const unit = isObject(value) ? textOf(value['unit']).toUpperCase() : 'B';
  const factor = factors.get(unit);
  return number === undefined || number < 0 || factor === undefined ? undefined : Math.round(number * factor);
}

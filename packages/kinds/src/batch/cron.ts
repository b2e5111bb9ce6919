/** The bounds of a schedule's field, and the names allowed instead of numbers. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly names: readonly string[];
  /** The value of the first name. */
  readonly firstName: number;
}

const plain = { names: [], firstName: 0 };
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const fields: readonly Bounds[] = [
  { low: 0, high: 59, ...plain },
  { low: 0, high: 23, ...plain },
  { low: 1, high: 31, ...plain },
  { low: 1, high: 12, names: monthNames, firstName: 1 },
  { low: 0, high: 6, names: dayNames, firstName: 0 },
];

const descriptors = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);

/** A number, or the reason why the text is not one. */
type Parsed = number | string;

function parseNumber(text: string): Parsed {
  if (!/^[+-]?\d+$/.test(text)) return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  const number = Number(text);
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}

function parseValue(text: string, { names, firstName }: Bounds): Parsed {
  const position = names.indexOf(text.toLowerCase());
  return position === -1 ? parseNumber(text) : firstName + position;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function parseRange(range: string, bounds: Bounds, text: string): Range | string {
  const ends = range.split('-');
  if (ends[0] === '*' || ends[0] === '?') return { start: bounds.low, end: bounds.high };
  const start = parseValue(ends[0]!, bounds);
  if (typeof start === 'string') return start;
  if (ends.length > 2) return `too many hyphens: ${text}`;
  const end = ends.length === 1 ? start : parseValue(ends[1]!, bounds);
  return typeof end === 'string' ? end : { start, end };
}

function rangeProblem(text: string, bounds: Bounds): string | undefined {
  const parts = text.split('/');
  const range = parseRange(parts[0]!, bounds, text);
  if (typeof range === 'string') return range;
  if (parts.length > 2) return `too many slashes: ${text}`;
  const step = parts.length === 1 ? 1 : parseNumber(parts[1]!);
  if (typeof step === 'string') return step;
  const end = parts.length === 2 && !parts[0]!.includes('-') ? bounds.high : range.end;
  if (range.start < bounds.low) return `beginning of range (${range.start}) below minimum (${bounds.low}): ${text}`;
  if (end > bounds.high) return `end of range (${end}) above maximum (${bounds.high}): ${text}`;
  if (range.start > end) return `beginning of range (${range.start}) beyond end of range (${end}): ${text}`;
  return step === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

/** Why a cron schedule is invalid; undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.startsWith('@')) {
    if (descriptors.has(schedule) || /^@every ([\d.]+(ns|us|µs|ms|s|m|h))+$/.test(schedule)) return undefined;
    return `unrecognized descriptor: ${schedule}`;
  }
  const given = schedule.split(/\s+/).filter((field) => field !== '');
  if (given.length !== fields.length) return `expected exactly ${fields.length} fields, found ${given.length}: [${given.join(' ')}]`;
  for (const [index, bounds] of fields.entries()) {
    for (const range of given[index]!.split(',').filter((part) => part !== '')) {
      const problem = rangeProblem(range, bounds);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

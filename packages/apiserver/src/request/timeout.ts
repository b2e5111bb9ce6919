import { fieldError, status } from '@capstan/machinery';

/** The maximum duration of a request, whatever its URL asks for. */
const longest = 60_000;

/**
 * The time in milliseconds that a request may take, from the `timeout` in its URL; undefined if it is missing or not positive.
 * Rejects anything that Go does not parse as a duration. Long-running requests have no timeout.
 */
export function requestTimeout(text: string): number | undefined {
  if (text === '') return undefined;
  const problem = durationProblem(text);
  if (problem !== undefined) throw status.badRequest(`invalid timeout specified in the request URL - time: ${problem}`);
  const duration = durationOf(text);
  return duration > 0 ? Math.min(duration, longest) : undefined;
}

/** Parses a Go duration into milliseconds; undefined if it is invalid. */
export function durationIn(text: string): number | undefined {
  return text === '' || durationProblem(text) !== undefined ? undefined : durationOf(text);
}

/** The response to a client whose timeout has expired. */
export function timedOut(): string {
  const message = 'Timeout: request did not complete within the allotted timeout';
  return JSON.stringify({ metadata: {}, status: 'Failure', message, reason: 'Timeout', details: {}, code: 504 });
}

const milliseconds: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

function durationOf(text: string): number {
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)([^\d.]+)/g)) sum += Number(number) * (milliseconds.get(unit!) ?? 0);
  return text.startsWith('-') ? -sum : sum;
}

function durationProblem(text: string): string | undefined {
  const quoted = fieldError.quote(text);
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return undefined;
  do {
    const number = /^(?:\d+(?:\.\d*)?|\.\d+)/.exec(rest);
    if (number === null) return `invalid duration ${quoted}`;
    rest = rest.slice(number[0].length);
    const unit = /^[^.\d]*/.exec(rest)![0];
    if (unit === '') return `missing unit in duration ${quoted}`;
    if (!milliseconds.has(unit)) return `unknown unit ${fieldError.quote(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  } while (rest !== '');
  return undefined;
}

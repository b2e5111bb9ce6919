import { fieldError, status } from '@capstan/machinery';

const units = new Set(['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h']);

/** Refuses a `timeout` in the URL that is no duration, as Go reads durations. Requests that stay open have none. */
export function checkTimeout(text: string): void {
  const problem = text === '' ? undefined : durationProblem(text);
  if (problem !== undefined) throw status.badRequest(`invalid timeout specified in the request URL - time: ${problem}`);
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
    if (!units.has(unit)) return `unknown unit ${fieldError.quote(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  } while (rest !== '');
  return undefined;
}

import { humanDuration, parseQuantity, scaledValue } from '@capstan/machinery/objects';

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** `12.3 GiB`. */
export function bytes(amount: number): string {
  let value = amount;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}

/** The number of bytes, or of whole things, in a quantity such as `64Gi`. Undefined if it is none. */
export function amountOf(quantity: string | number | undefined): number | undefined {
  if (quantity === undefined || quantity === '') return undefined;
  try {
    return Number(scaledValue(parseQuantity(quantity)));
  } catch {
    return undefined;
  }
}

/** `2 TiB` from the quantity `2Ti`. */
export function sizeWords(quantity: string | number): string {
  const amount = amountOf(quantity);
  return amount === undefined ? String(quantity) : bytes(amount);
}

/** `7.5 cores` from thousandths. */
export function cores(millis: number): string {
  const value = millis / 1000;
  const shown = value >= 100 ? Math.round(value) : Number(value.toFixed(value < 0.1 ? 3 : value < 1 ? 2 : 1));
  return `${shown} ${shown === 1 ? 'core' : 'cores'}`;
}

export const percent = (value: number): string => `${Math.round(value)}%`;

/** `1 GPU`, `3 GPUs`. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
}

/** How long ago, as kubectl prints it; `–` if it never was. */
export function since(time: string | null | undefined, now: number): string {
  const then = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '–' : humanDuration(Math.max(0, now - then));
}

/** `2026-11-16 08:57:16`, in the time zone of the reader. */
export function dateTime(time: string | null | undefined): string {
  const then = time ? new Date(time) : undefined;
  if (then === undefined || Number.isNaN(then.getTime())) return '–';
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
  return `${day} ${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
}

/** `08:57:16`, in the time zone of the reader. */
export const timeOfDay = (time: string): string => dateTime(time).slice(-8);

/** A first word such as `gpu-10`, `root:main` or `10.0.0.4`, which is a name. */
const nameAtStart = /^\S*[\d:/_.@-]\S*\s/;

/** A message with a capital letter at its beginning, unless it begins with a name. */
export const sentence = (text: string): string => (text === '' || nameAtStart.test(text) ? text : text[0]!.toUpperCase() + text.slice(1));

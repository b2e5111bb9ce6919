import { isIPv4, isIPv6 } from 'node:net';

type FormatCheck = (text: string) => boolean;

const matches =
  (pattern: RegExp): FormatCheck =>
  (text) =>
    pattern.test(text);

const anyIp4 = (text: string): boolean => isIPv4(text) || /^::ffff:\d/i.test(text);

/** By name without dashes. Formats that are not listed accept any value. */
const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['uri', isUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', anyIp4],
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['cidr', isCidr],
  [
    'mac',
    matches(
      /^(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2}|(?::[0-9a-f]{2}){14})?|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?:(?:-[0-9a-f]{2}){2}|(?:-[0-9a-f]{2}){14})?|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}(?:(?:\.[0-9a-f]{4}){1}|(?:\.[0-9a-f]{4}){7})?)$/i,
    ),
  ],
  ['uuid', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid3', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid4', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', isRgbColor],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  // Known by name, but not checked by the Kubernetes version that we follow.
  ['k8sshortname', () => true],
  ['k8slongname', () => true],
]);

/** The check for a format; undefined if the format is unknown. */
export function formatCheck(format: string): FormatCheck | undefined {
  return format === '' ? undefined : checks.get(format.replaceAll('-', ''));
}

function isUri(text: string): boolean {
  if (text === '' || /[\p{Cc} ]/u.test(text)) return false;
  if (text.startsWith('/')) return !/%(?![0-9a-fA-F]{2})/.test(text);
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:[^#]*/.test(text) && URL.canParse(text);
}

function isEmail(text: string): boolean {
  const address = /^[^<>]*<([^<>]+)>\s*$/.exec(text)?.[1] ?? text;
  return /^[^\s@()<>[\]:;,"]+@[^\s@()<>[\]:;,"]+$/.test(address) && !/^\.|\.\.|\.@|@\.|\.$/.test(address);
}

function isHostname(text: string): boolean {
  if (text.length > 255 || !hostname.test(text)) return false;
  return text.split('.').every((label) => label.length <= 63);
}

/** One label, or several of which the last consists of letters. */
const hostname =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most && (bits === '0' || !bits.startsWith('0'));
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 10; index++) sum += (index + 1) * (digits[index] === 'X' ? 10 : Number(digits[index]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 13; index++) sum += Number(digits[index]) * (index % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]/g, '');
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/.test(
      digits,
    )
  )
    return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const counted = index % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  if (parts === null) return false;
  return parts.slice(1).every((part) => Number(part) <= 255 && (part === '0' || !part.startsWith('0')));
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && !/=[^=]/.test(text);
}

function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function isDateTime(text: string): boolean {
  if (text.length < 4) return false;
  const [date = '', rest] = text.toLowerCase().split('t');
  const time = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(rest ?? '');
  if (time === null || !isDate(date)) return false;
  const [hour, minute, second] = time.slice(1).map(Number) as [number, number, number];
  return hour < 24 && minute < 60 && second < 60;
}

function isDuration(text: string): boolean {
  // No valid duration is longer, and the pattern below would be slow.
  if (text.length > 128) return false;
  if (text === '0' || /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return true;
  return /^(?:\d+)\s*(?:nanoseconds?|nanos?|ns|microseconds?|micros?|us|µs|μs|milliseconds?|millis?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)$/i.test(
    text,
  );
}

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** `2026-01-02T03:04:05Z`, as metadata has it. */
export function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** `2026-01-02T03:04:05.123000Z`, as leases and events have it. */
export function formatMicroTime(date: Date): string {
  return `${date.toISOString().slice(0, 23)}000Z`;
}

/** Reads an RFC 3339 time; undefined when it is none. Parts of a millisecond are dropped. */
export function parseTime(text: string): Date | undefined {
  const parts = pattern.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zone] = parts;
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

/** The text that Kubernetes stores for a time that a client sent: in UTC, whole seconds. Undefined when it is no time. */
export function canonicalizeTime(text: string): string | undefined {
  if (text.length === 20 && text.charCodeAt(19) === 0x5a) return parseTime(text) === undefined ? undefined : text;
  const date = parseTime(text);
  return date && formatTime(date);
}

/** As canonicalizeTime, with six digits after the second. */
export function canonicalizeMicroTime(text: string): string | undefined {
  const date = parseTime(text);
  if (date === undefined) return undefined;
  const fraction = (pattern.exec(text)![7] ?? '').slice(0, 6).padEnd(6, '0');
  return `${date.toISOString().slice(0, 19)}.${fraction}Z`;
}

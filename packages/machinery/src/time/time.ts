const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** `2026-01-02T03:04:05Z`, as in metadata. */
export function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** `2026-01-02T03:04:05.123000Z`, as in leases and events. */
export function formatMicroTime(date: Date): string {
  return `${date.toISOString().slice(0, 23)}000Z`;
}

/** Parses an RFC 3339 time; undefined if it is invalid. Drops fractions of a millisecond. */
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

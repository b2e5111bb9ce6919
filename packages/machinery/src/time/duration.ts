/** A duration as `kubectl get` shows it under AGE: two or three figures, such as `5m3s`, `47h`, `3d4h`, `2y30d`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`;
}

function withRest(amount: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${amount}${unit}` : `${amount}${unit}${rest}${restUnit}`;
}

/** The time since then, as in an AGE column; `<unknown>` if there is no time. */
export function age(since: string | null | undefined, now: Date): string {
  const then = since ? Date.parse(since) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now.getTime() - then);
}

import { readdirSync, readFileSync } from 'node:fs';

/** How many descriptors are reserved for uses other than clients and streams: the store, the audit log, webhook calls, pipes. */
const leastReserve = 64;
const mostReserve = 512;

export interface Descriptors {
  /** How many descriptors the process may open. */
  readonly limit: number;
  /** How many are open now. */
  readonly open: number;
}

/**
 * How many sockets the process can hold, beside what is open, without running out of file descriptors; any number if this is unknown. A process
 * without free descriptors cannot open files, start programs or make calls.
 */
export function affordableSockets(descriptors: Descriptors | undefined): number {
  if (descriptors === undefined) return Number.POSITIVE_INFINITY;
  const { limit, open } = descriptors;
  const reserve = Math.min(mostReserve, Math.max(leastReserve, Math.floor(limit / 8)));
  return Math.max(1, limit - open - reserve);
}

/** Undefined if the system does not report them. */
export function ownDescriptors(): Descriptors | undefined {
  const limit = ownLimit();
  if (limit === undefined) return undefined;
  try {
    return { limit, open: readdirSync('/proc/self/fd').length };
  } catch {
    return { limit, open: leastReserve };
  }
}

/** Node raises the soft limit to the hard limit at startup, so this is the limit in effect. Administrators can raise it while the process runs. */
export function ownLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return reportedLimit();
  }
}

let reported: { readonly limit: number | undefined } | undefined;

/** For systems without /proc. Slow, so it is called only once. */
function reportedLimit(): number | undefined {
  if (reported === undefined) {
    const { userLimits } = process.report.getReport() as { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } };
    const soft = userLimits?.open_files?.soft;
    reported = { limit: typeof soft === 'number' ? soft : undefined };
  }
  return reported.limit;
}

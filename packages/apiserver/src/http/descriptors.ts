import { readdirSync, readFileSync } from 'node:fs';

/** How many descriptors are reserved for uses other than client connections: the store, the audit log, webhook calls, pipes. */
const leastReserve = 64;
const mostReserve = 512;

export interface Descriptors {
  /** How many descriptors the process may open. */
  readonly limit: number;
  /** How many are open now. */
  readonly open: number;
}

/**
 * How many connections the process can hold without running out of file descriptors; `wanted` if this is unknown. A process
 * without free descriptors cannot open files, start programs or make calls.
 */
export function affordableConnections(wanted: number, descriptors: Descriptors | undefined = ownDescriptors()): number {
  if (descriptors === undefined) return wanted;
  const { limit, open } = descriptors;
  const reserve = Math.min(mostReserve, Math.max(leastReserve, Math.floor(limit / 8)));
  return Math.max(1, Math.min(wanted, limit - open - reserve));
}

/** Undefined if the system does not report them. */
function ownDescriptors(): Descriptors | undefined {
  const limit = ownLimit();
  if (limit === undefined) return undefined;
  try {
    return { limit, open: readdirSync('/proc/self/fd').length };
  } catch {
    return { limit, open: leastReserve };
  }
}

/** Node raises the soft limit to the hard limit at startup, so this is the limit in effect. */
function ownLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return reportedLimit();
  }
}

/** For systems without /proc. Slow, but called only once. */
function reportedLimit(): number | undefined {
  const { userLimits } = process.report.getReport() as { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

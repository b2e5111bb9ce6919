import { readdirSync, readFileSync } from 'node:fs';

/** How many descriptors are left for what is not a client's connection: the store, the audit log, calls to webhooks, pipes. */
const leastReserve = 64;
const mostReserve = 512;

export interface Descriptors {
  /** How many the process may have open. */
  readonly limit: number;
  /** How many it has open now. */
  readonly open: number;
}

/**
 * How many connections the process can hold without running out of file descriptors; `wanted` where nobody can tell. A process without descriptors cannot
 * open files, start programs or call anybody.
 */
export function affordableConnections(wanted: number, descriptors: Descriptors | undefined = ownDescriptors()): number {
  if (descriptors === undefined) return wanted;
  const { limit, open } = descriptors;
  const reserve = Math.min(mostReserve, Math.max(leastReserve, Math.floor(limit / 8)));
  return Math.max(1, Math.min(wanted, limit - open - reserve));
}

/** Undefined where the system does not tell. */
function ownDescriptors(): Descriptors | undefined {
  const limit = ownLimit();
  if (limit === undefined) return undefined;
  try {
    return { limit, open: readdirSync('/proc/self/fd').length };
  } catch {
    return { limit, open: leastReserve };
  }
}

/** Node raises the soft limit to the hard one when it starts, so this is the limit in effect. */
function ownLimit(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return reportedLimit();
  }
}

/** For systems without /proc. It is slow, and asked once. */
function reportedLimit(): number | undefined {
  const { userLimits } = process.report.getReport() as { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

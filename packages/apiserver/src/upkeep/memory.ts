/**
 * Resident memory in bytes. Undefined if the system cannot report it: Node reads a file for this, which fails when the process is
 * out of file descriptors.
 */
export function residentMemory(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

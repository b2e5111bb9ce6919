/** Resident memory in bytes. Undefined while the system does not tell: Node reads a file for it, which fails when the process has no file descriptor left. */
export function residentMemory(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

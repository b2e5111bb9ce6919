import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The total resident memory of processes, in MB; undefined if one cannot be read. */
export function residentMegabytes(pids: readonly number[]): number | undefined {
  if (pids.length === 0) return undefined;
  let kilobytes = 0;
  for (const pid of pids) {
    try {
      kilobytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    } catch {
      return undefined;
    }
  }
  return kilobytes / 1024;
}

/** The process that listens on a loopback port, found through /proc; undefined if it is not visible to us. */
export function listeningProcess(port: number): number | undefined {
  const inode = listeningInode(port);
  if (inode === undefined) return undefined;
  const wanted = `socket:[${inode}]`;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const directory = `/proc/${pid}/fd`;
      if (readdirSync(directory).some((descriptor) => readlinkSync(`${directory}/${descriptor}`) === wanted)) return Number(pid);
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
  return undefined;
}

function listeningInode(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let lines: string[];
    try {
      lines = readFileSync(file, 'utf8').split('\n');
    } catch {
      continue;
    }
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      const listening = '0A';
      if (fields[1]?.endsWith(suffix) && fields[3] === listening) return fields[9];
    }
  }
  return undefined;
}

import { type ChildProcess, spawn } from 'node:child_process';
import type { Stream } from 'node:stream';

export interface WatchdogOptions {
  readonly pid: number;
  /** A stream to the process whose other end only that process holds: it ends with the process. */
  readonly life: Stream;
  /** Sent at once. Absent for programs that notice by themselves that this process has died. */
  readonly firstSignal?: 'SIGTERM';
  /** How long the process may take to end before it is killed, in milliseconds. */
  readonly grace: number;
}

/**
 * Waits for the end of its input, which only the supervisor can write to; then for the end of the process, and kills it if that does not come.
 * The second wait makes sure that no other process is killed that got the same id meanwhile.
 */
const script = 'read -r _; [ -z "$2" ] || kill -"$2" "$1"; { sleep "$3"; kill -KILL "$1"; } & read -r _ <&1; kill $!';

/**
 * Ends a program when this process has died, even if the program hangs. A shell does it, because it needs a twentieth of the memory of a
 * thread in the program. Disposing ends the shell first, so that the program's id can be used by others.
 */
export function endWithThisProcess({ pid, life, firstSignal, grace }: WatchdogOptions): Disposable {
  const signal = firstSignal?.slice('SIG'.length) ?? '';
  const shell: ChildProcess = spawn('/bin/sh', ['-c', script, 'watchdog', String(pid), signal, String(grace / 1000)], {
    detached: true,
    // Node makes only the first three blocking for the program that it starts, and a shell cannot wait for others.
    stdio: ['pipe', life, 'ignore'],
  });
  // Without a shell, the program outlives a supervisor that is killed; everything else works.
  shell.on('error', () => {});
  shell.stdin?.on('error', () => {});
  shell.unref();
  return { [Symbol.dispose]: () => void shell.kill('SIGKILL') };
}

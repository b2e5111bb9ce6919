import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Ends a program that does not notice by itself that this process has died: a shell waits for the end of its input, which only this process
 * can write to. Disposing ends the shell first, so that the program's id can be used by others.
 */
export function endWithThisProcess(pid: number): Disposable {
  const shell: ChildProcess = spawn('/bin/sh', ['-c', 'read -r _; kill -TERM "$1"', 'watchdog', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell, the program outlives a supervisor that is killed; everything else works.
  shell.on('error', () => {});
  shell.stdin?.on('error', () => {});
  shell.unref();
  return { [Symbol.dispose]: () => void shell.kill('SIGKILL') };
}

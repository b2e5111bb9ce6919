import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { AgentPlatform } from '@capstan/api';
import type { ServerOptions } from '@capstan/apiserver';
import { hasRuntime } from './runtime.ts';

/** Where the archives of the node agent are in a data directory. */
export const archiveDirectory = (dataDirectory: string): string => join(dataDirectory, 'agents');

/** Compressing takes seconds: another process with a low priority does it, when a machine first asks. */
export function agentArchives(dataDirectory: string): NonNullable<ServerOptions['agentArchives']> {
  return {
    directory: archiveDirectory(dataDirectory),
    prepare: async () => {
      const platform = `${process.platform}-${process.arch}` as AgentPlatform;
      // Servers fetch nothing from elsewhere by themselves.
      if (process.platform !== 'linux' || !hasRuntime(platform))
        throw new Error(`there is no Node for Linux here to put into it; build it with "capstan node archive --arch x64"`);
      await build(dataDirectory);
    },
  };
}

function build(dataDirectory: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(process.execPath, [process.argv[1]!, 'node', 'archive', '--data-dir', dataDirectory], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2_000)));
  child.on('error', reject);
  child.on('spawn', () => lowerPriority(child.pid));
  child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(words.trim().replace(/^capstan: /, '')))));
  return promise;
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, 10);
  } catch {
    // It may have ended, or the system does not allow it.
  }
}

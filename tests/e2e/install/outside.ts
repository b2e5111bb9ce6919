import { readFileSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, type CommandOptions, type CommandResult, output, run, type TemporaryDirectory } from '@capstan/testbed';
import type { Registry } from './registry.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Builds parts of a release into a folder, as `npm run release` does. */
export async function buildRelease(folder: string, ...parts: string[]): Promise<void> {
  await output(process.execPath, [resolve(root, 'scripts/release/main.ts'), ...parts, '--output', folder]);
}

/** The environment of a user without a checkout: the machine's own Node and npm, and a registry without Capstan. */
export function outsideEnvironment(home: TemporaryDirectory, registry: Registry): Record<string, string> {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return {
    PATH: path.join(delimiter),
    HOME: home.path,
    XDG_CACHE_HOME: home.join('cache'),
    npm_config_registry: registry.url,
    npm_config_cache: home.join('npm'),
    npm_config_prefix: home.join('global'),
    npm_config_userconfig: home.join('npmrc'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    npm_config_yes: 'true',
    NODE_OPTIONS: '',
    KUBECONFIG: '',
  };
}

/** Runs lines of a guide in a shell that stops at the first failure. */
export async function shell(script: string, options: CommandOptions): Promise<CommandResult> {
  return run('sh', ['-e', '-c', script], options);
}

/**
 * A line of a guide that keeps running until it is disposed. npx does not forward signals, so each of its child processes is ended
 * individually.
 */
export class LongCommand extends Child {
  override async [Symbol.asyncDispose](): Promise<void> {
    const started = descendants(this.pid);
    await this.stop();
    for (const pid of started) send(pid, 'SIGTERM');
    const deadline = Date.now() + 10_000;
    while (started.some((pid) => isRunning(pid)) && Date.now() < deadline) await sleep(25);
    for (const pid of started) send(pid, 'SIGKILL');
  }
}

function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  if (isRunning(pid)) process.kill(pid, signal);
}

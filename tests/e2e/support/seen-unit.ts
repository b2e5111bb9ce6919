import { Child, type CommandResult, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { expect, vi } from 'vitest';

const patience = { timeout: 60_000, interval: 200 };

/** Why there can be none; undefined if there can. */
export const seenUnitProblem = process.getuid?.() === 0 ? undefined : 'units are isolated only by root';

/** A real platform on this machine, with one running unit, `seen`, in root:main:default. */
export interface SeenUnit extends AsyncDisposable {
  /** A home directory, which ends with the platform. */
  readonly home: string;
  /** Points to root:main:default. */
  readonly kubeconfig: string;
}

/** Starts the platform, and the program as its unit. */
export async function startSeenUnit(program: readonly string[], flags: readonly string[] = []): Promise<SeenUnit> {
  await using stack = new AsyncDisposableStack();
  const { path: home } = stack.use(temporaryDirectory('seen-unit'));
  const data = `${home}/data`;
  const kubeconfig = `${data}/admin.kubeconfig`;
  const environment = { HOME: home, KUBECONFIG: kubeconfig };
  const capstan = (...args: string[]): Promise<CommandResult> =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: home, timeout: 60_000 });
  const succeeds = async (...args: string[]): Promise<void> => expect(await capstan(...args)).toMatchObject({ code: 0 });
  const words = ['up', '--data-dir', data, '--port', String(await freePort())];
  const up = new Child('capstan up', [process.execPath, capstanProgram, ...words], { environment });
  stack.defer(() => up.stop(15_000));
  await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  await vi.waitFor(async () => expect((await capstan('node', 'list')).stdout).toMatch(/\sReady\s/), patience);
  await succeeds('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi');
  await succeeds('ws', 'use', 'root:main:default');
  const isolated = ['--detach', '--network', 'none', '--no-upload', '--name', 'seen'];
  await vi.waitFor(() => succeeds('run', ...isolated, ...flags, '--', ...program), patience);
  // A unit outlives its agent, and so would its processes.
  stack.defer(() => succeeds('rm', '--force', 'seen'));
  await succeeds('wait', 'seen', '--for', 'running');
  const owned = stack.move();
  return { home, kubeconfig, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

import { copyFile, readFile } from 'node:fs/promises';
import {
  type Child,
  capstanProgram,
  pathWithPlugins,
  type RunningCapstan,
  run,
  startCapstan,
  startControllerManager,
  type TemporaryDirectory,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** kcp's plugins, built from its sources, and our own command: both edit the same kubeconfig. */
await describeWith(['kubectl', 'kubectl-ws', 'kubectl-create-workspace'], 'navigating workspaces', ({ kubectl, ...plugins }) => {
  let directory: TemporaryDirectory;
  let kubeconfig: string;
  let environment: Record<string, string>;
  let server: RunningCapstan;
  let manager: Child;

  beforeAll(async () => {
    directory = temporaryDirectory('plugin');
    kubeconfig = directory.join('kubeconfig');
    environment = { KUBECONFIG: kubeconfig, PATH: pathWithPlugins(directory.join('bin'), plugins), HOME: directory.path };
    server = await startCapstan({ store: 'sqlite' });
    manager = await startControllerManager(server);
    await copyFile(server.kubeconfig, kubeconfig);
  });
  afterAll(async () => {
    await manager.stop();
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const ask = async (program: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(program, args, { environment, timeout: 60_000 });
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  };
  const ws = (...args: string[]): Promise<string> => ask(kubectl, 'ws', ...args);
  const capstan = (...args: string[]): Promise<string> => ask(process.execPath, capstanProgram, 'ws', ...args);

  test("kcp's plugins create, enter, show and leave them", { timeout: 120_000 }, async () => {
    await ask(kubectl, 'config', 'use-context', 'root');
    expect(await ws('.')).toContain('root');
    expect(await ask(kubectl, 'create', 'workspace', 'acme', '--type', 'organization', '--enter')).toContain('root:acme');
    expect(await ws('create', 'team', '--enter')).toContain('root:acme:team');
    expect(await ask(kubectl, 'get', 'namespaces', '-o', 'name')).toContain('namespace/default');
    expect(await ws('..')).toContain('root:acme');
    expect(await ws(':root')).toContain('root');
    expect(await ws('tree')).toMatch(/acme[\s\S]*team/);
    expect(await ws('~')).toMatch(/^Current workspace is '[a-z0-9]+'\./);
    expect(await ws('-')).toContain('root');
  });

  test('our command continues from there', { timeout: 120_000 }, async () => {
    expect(await capstan('use', 'root:acme')).toBe('Current workspace is root:acme.\n');
    expect(await capstan('create', 'second', '--type', 'project', '--enter')).toContain('Current workspace is root:acme:second.');
    expect(await capstan('current')).toBe('root:acme:second\n');
    expect(await capstan('use', '-')).toBe('Current workspace is root:acme.\n');
    expect(await capstan('list')).toMatch(/second\s+project\s+Ready/);
    expect(await capstan('tree', 'root')).toMatch(/acme\n│? {3}├── second\n│? {3}└── team/);
    expect(await capstan('delete', 'second')).toContain('is deleted');
    await expect(capstan('delete', 'second')).rejects.toThrow('there is no workspace "second" in root:acme;');
    await expect(capstan('use', 'second')).rejects.toThrow('there is no workspace root:acme:second, or you have no access to it.');
    expect(await readFile(kubeconfig, 'utf8')).toContain('workspace.kcp.io/previous');
  });
});

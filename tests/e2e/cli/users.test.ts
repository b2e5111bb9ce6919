import { existsSync, readFileSync, statSync } from 'node:fs';
import {
  type Child,
  capstanProgram,
  type RunningCapstan,
  run,
  startCapstan,
  startControllerManager,
  temporaryDirectory,
} from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

describe('users, with the real command and the real controllers', () => {
  const directory = temporaryDirectory('users');
  let server: RunningCapstan;
  let manager: Child | undefined;

  beforeAll(async () => {
    server = await startCapstan({ store: 'sqlite' });
  });
  afterAll(async () => {
    await manager?.stop();
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const call = (kubeconfig: string, ...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], {
      environment: { KUBECONFIG: kubeconfig },
      directory: directory.path,
      timeout: 60_000,
    });
  const capstan = async (kubeconfig: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await call(kubeconfig, ...args);
    if (code !== 0) throw new Error(`capstan ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  const refused = async (kubeconfig: string, ...args: string[]): Promise<string> => {
    const { code, stderr } = await call(kubeconfig, ...args);
    expect(code, stderr).not.toBe(0);
    return stderr.trim();
  };
  const fileOf = (name: string): string => directory.join(`${name}.kubeconfig`);

  test('an owner who is quicker than the first start of a server waits for its workspaces', async () => {
    const entered = call(server.kubeconfig, 'ws', 'use', 'root:main');
    // Nothing makes the workspace before.
    manager = await startControllerManager(server);
    expect(await entered).toMatchObject({ code: 0, stdout: 'Current workspace is root:main.\n' });
    await capstan(server.kubeconfig, 'ws', 'use', 'root');
  });

  test('a new user begins at home, and has a role only where one was given', async () => {
    expect(await capstan(server.kubeconfig, 'user', 'create', 'ada')).toContain('ada.kubeconfig begins in a home of their own.');
    expect(statSync(fileOf('ada')).mode & 0o777).toBe(0o600);
    expect(await capstan(fileOf('ada'), 'whoami')).toBe('ada');
    expect(await capstan(fileOf('ada'), 'ws', 'current')).toBe('user:ada');

    await capstan(server.kubeconfig, 'ws', 'create', 'acme', '--enter');
    expect(await refused(fileOf('ada'), 'ws', 'use', 'root:acme')).toContain(
      'there is no workspace root:acme, or you have no access to it.',
    );
    // Who made it.
    expect(await capstan(server.kubeconfig, 'user', 'list')).toMatch(/^NAME +KIND +ROLE\nkubernetes-admin +User +cluster-admin$/);
    expect(await capstan(server.kubeconfig, 'user', 'grant', 'ada')).toContain('ada has the role user in root:acme now.');
    expect(await capstan(server.kubeconfig, 'user', 'grant', 'ada')).toContain('ada already has the role user in root:acme.');
    expect(await capstan(fileOf('ada'), 'ws', 'use', 'root:acme')).toBe('Current workspace is root:acme.');
    expect(await capstan(server.kubeconfig, 'user', 'list')).toMatch(/\nada +User +user\n/);

    expect(await capstan(server.kubeconfig, 'user', 'revoke', 'ada')).toBe('ada is no longer user in root:acme.');
    expect(await refused(fileOf('ada'), 'ws', 'list')).toContain('forbidden');
    expect(await refused(server.kubeconfig, 'user', 'revoke', 'ada')).toContain('ada does not have a role in root:acme');
  });

  test('a user can begin in a workspace, with a role there and in groups', async () => {
    await capstan(server.kubeconfig, 'user', 'create', 'grace@example.com', '-w', 'root:acme', '--role', 'viewer', '--group', 'devs');
    const file = fileOf('grace@example.com');
    expect(await capstan(file, 'ws', 'current')).toBe('root:acme');
    expect(await capstan(server.kubeconfig, 'user', 'list')).toMatch(/\ngrace@example.com +User +viewer\n/);
    await capstan(server.kubeconfig, 'user', 'revoke', 'grace@example.com', '--role', 'viewer');
    await capstan(server.kubeconfig, 'user', 'grant', 'devs', '--group', '--role', 'cluster-admin');
    // As a member of the group, who may say what others may do here.
    expect(await capstan(file, 'user', 'grant', 'ada', '--role', 'viewer')).toContain('ada has the role viewer');
    expect(await refused(file, 'user', 'create', 'eve')).toContain('only owners of the platform can create users.');
  });

  test('an owner may do everything', async () => {
    await capstan(server.kubeconfig, 'user', 'create', 'bob', '--owner', '--expires-in', '12h', '--file', 'owner.kubeconfig');
    expect(await capstan(directory.join('owner.kubeconfig'), 'user', 'create', 'eve')).toContain('eve.kubeconfig');
  });

  test('what cannot be is refused before anything is made', async () => {
    const create = (...args: string[]) => refused(server.kubeconfig, 'user', 'create', ...args);
    expect(await create('system:node:a')).toContain('Names that begin with "system:" belong to Kubernetes.');
    expect(await create('z', '--group', 'system:masters')).toContain('"system:masters" belongs to the platform.');
    expect(await create('z', '--expires-in', '900d')).toContain('expected ten minutes to a year');
    expect(await create('z', '-w', 'root:nowhere')).toContain('there is no workspace root:nowhere');
    expect(await create('z', '-w', 'root:acme', '--role', 'usr')).toContain('there is no role usr.');
    expect(await create('z', '--server', 'example.com')).toContain('expected an address such as https://capstan.example.com:6443');
    expect(existsSync(fileOf('z'))).toBe(false);
    const before = readFileSync(fileOf('ada'), 'utf8');
    expect(await create('ada')).toContain('ada.kubeconfig is there already.');
    expect(readFileSync(fileOf('ada'), 'utf8')).toBe(before);
  });
});

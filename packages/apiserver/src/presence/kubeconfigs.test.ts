import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePki, type Pki } from '@capstan/pki';
import { dump, load } from 'js-yaml';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeKubeconfigs } from './kubeconfigs.ts';

interface Config {
  clusters: { name: string; cluster: { server: string; namespace?: string } }[];
  users: { name: string; user: Record<string, string> }[];
  contexts: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
  'current-context': string;
}

let directory: string;
let pki: Pki;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kubeconfigs-'));
  pki = await ensurePki(join(directory, 'pki'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const first = { url: 'https://192.0.2.1:6443', localUrl: 'https://127.0.0.1:6443' };
const second = { url: 'https://api.example.com', localUrl: 'https://127.0.0.1:6443' };
const path = (): string => join(directory, 'admin.kubeconfig');
const read = (): Config => load(readFileSync(path(), 'utf8')) as Config;
const change = (edit: (config: Config) => void): void => {
  const config = read();
  edit(config);
  writeFileSync(path(), dump(config));
};
const serverOf = (name: string): string | undefined => read().clusters.find((one) => one.name === name)?.cluster.server;

it('gives the administrator the advertised address, and the controllers the local one', async () => {
  await writeKubeconfigs(directory, pki, second);
  expect(serverOf('capstan')).toBe('https://api.example.com');
  expect(serverOf('root')).toBe('https://api.example.com/clusters/root');
  for (const name of ['controller-manager', 'platform-controllers'])
    expect(readFileSync(join(directory, `${name}.kubeconfig`), 'utf8')).toContain('server: https://127.0.0.1:6443');
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

it('keeps the current context and entries added by others', async () => {
  await writeKubeconfigs(directory, pki, first);
  change((config) => {
    config.clusters.push({ name: 'elsewhere', cluster: { server: 'https://203.0.113.9' } });
    config.users.push({ name: 'me', user: { token: 'secret' } });
    config.contexts.push({ name: 'mine', context: { cluster: 'elsewhere', user: 'me', namespace: 'blue' } });
    config['current-context'] = 'mine';
  });
  await writeKubeconfigs(directory, pki, second);
  expect(read()['current-context']).toBe('mine');
  expect(read().contexts).toContainEqual({ name: 'mine', context: { cluster: 'elsewhere', user: 'me', namespace: 'blue' } });
  expect(read().users).toContainEqual({ name: 'me', user: { token: 'secret' } });
  expect(serverOf('elsewhere')).toBe('https://203.0.113.9');
  expect(serverOf('capstan')).toBe('https://api.example.com');
  expect(read().clusters.filter(({ name }) => name === 'capstan')).toHaveLength(1);
});

it('updates the current workspace when the address changes', async () => {
  await writeKubeconfigs(directory, pki, first);
  change((config) => {
    config.clusters.push({ name: 'workspace.kcp.io/current', cluster: { server: 'https://192.0.2.1:6443/clusters/root:team' } });
    config.clusters.push({ name: 'workspace.kcp.io/previous', cluster: { server: 'https://203.0.113.9/clusters/root:other' } });
    config['current-context'] = 'workspace.kcp.io/current';
  });
  await writeKubeconfigs(directory, pki, second);
  expect(serverOf('workspace.kcp.io/current')).toBe('https://api.example.com/clusters/root:team');
  expect(serverOf('workspace.kcp.io/previous')).toBe('https://203.0.113.9/clusters/root:other');
  expect(read()['current-context']).toBe('workspace.kcp.io/current');
});

it('does not rewrite a file that is up to date', async () => {
  await writeKubeconfigs(directory, pki, first);
  const { mtimeMs, ino } = statSync(path());
  await writeKubeconfigs(directory, pki, first);
  expect(statSync(path())).toMatchObject({ mtimeMs, ino });
});

it('replaces a file that is not a kubeconfig and keeps a copy of it', async () => {
  writeFileSync(path(), 'clusters: [');
  await writeKubeconfigs(directory, pki, first);
  expect(serverOf('capstan')).toBe(first.url);
  expect(readFileSync(`${path()}.unreadable`, 'utf8')).toBe('clusters: [');
});

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Layout } from './layout.ts';
import { type Processes, until } from './processes.ts';

const client = 'http://127.0.0.1:2379';

export const etcdData = ({ data }: Pick<Layout, 'data'>): string => join(data, 'server/db/etcd');
const peer = ({ address }: Pick<Layout, 'address'>): string => `http://${address}:2380`;

/** Calls the etcd of this server by the JSON form of its API. */
async function call<T>(path: string, body: object): Promise<T> {
  const answer = await fetch(`${client}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`etcd answers ${answer.status} to ${path}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

interface Member {
  readonly ID: string;
  readonly name?: string;
  readonly peerURLs: readonly string[];
}

export const etcdMembers = async (): Promise<readonly Member[]> =>
  (await call<{ members: readonly Member[] }>('cluster/member/list', {})).members;

/** Announces a new member, and returns the cluster as that member must know it. */
export async function addEtcdMember(name: string, address: string): Promise<string> {
  const url = peer({ address });
  let members = await etcdMembers();
  if (!members.some(({ peerURLs }) => peerURLs.includes(url))) {
    await call('cluster/member/add', { peerURLs: [url] });
    members = await etcdMembers();
  }
  return members.map((member) => `${member.peerURLs.includes(url) ? name : member.name}=${member.peerURLs[0]}`).join(',');
}

export async function removeEtcdMember(name: string): Promise<void> {
  const found = (await etcdMembers()).find((member) => member.name === name);
  if (found !== undefined) await call('cluster/member/remove', { ID: found.ID });
}

/** `cluster` has the members of one that this server joins. */
export async function startEtcd(layout: Layout, processes: Processes, cluster: string | undefined): Promise<void> {
  const folder = etcdData(layout);
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  processes.start('etcd', [
    ...[layout.parts.etcd, '--name', layout.node, '--data-dir', folder, '--log-level', 'warn'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer(layout), '--initial-advertise-peer-urls', peer(layout)],
    ...[
      '--initial-cluster',
      cluster ?? `${layout.node}=${peer(layout)}`,
      '--initial-cluster-state',
      cluster === undefined ? 'new' : 'existing',
    ],
  ]);
  await until('etcd', async () => (await fetch(`${client}/health`)).ok);
}

/** Saves everything that etcd has. The file ends with a hash, which `restoreSnapshot` checks. */
export async function saveSnapshot(file: string): Promise<void> {
  const answer = await fetch(`${client}/v3/maintenance/snapshot`, { method: 'POST', body: '{}' });
  if (!answer.ok) throw new Error(`etcd answers ${answer.status}: ${await answer.text()}`);
  const parts = (await answer.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { readonly result?: { readonly blob?: string } });
  const data = Buffer.concat(parts.map(({ result }) => Buffer.from(result?.blob ?? '', 'base64')));
  if (data.length === 0) throw new Error('etcd sent an empty snapshot');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, data, { mode: 0o600 });
}

/** Replaces the data of this server by a snapshot; without one, makes it the only member. */
export function restoreSnapshot(layout: Layout, snapshot: string): void {
  if (!existsSync(snapshot)) throw new Error(`etcd: snapshot path does not exist: ${snapshot}`);
  const folder = etcdData(layout);
  rmSync(folder, { recursive: true, force: true });
  const place = [
    '--name',
    layout.node,
    '--initial-cluster',
    `${layout.node}=${peer(layout)}`,
    '--initial-advertise-peer-urls',
    peer(layout),
  ];
  // Clients that have seen later versions must not take old ones for new.
  const bump = ['--bump-revision', '1000000', '--mark-compacted'];
  execFileSync(layout.parts.etcdutl, ['snapshot', 'restore', snapshot, '--data-dir', folder, ...place, ...bump], { stdio: 'inherit' });
}

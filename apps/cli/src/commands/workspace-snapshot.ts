import { createWriteStream } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { logicalClusterKind, logicalClusterName, workspaceKind } from '@capstan/api';
import { type Client, followLines, isForbidden, isNotFound } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

export interface WorkspaceSnapshotFlags extends ConnectionFlags {
  readonly workspace: string;
  /** Gives objects of bound APIs to the exports of this server with the same path and name. */
  readonly rebind?: boolean;
}

/** The server's report about an import. */
interface Imported {
  readonly created: number;
  readonly kept: readonly string[];
  readonly skipped: readonly string[];
  readonly rebound: readonly string[];
  readonly unbound: readonly {
    readonly binding: string;
    readonly export: string;
    readonly reason: 'NoExport' | 'OtherIdentity';
    readonly objects: number;
  }[];
}

const idle = 60_000;
/** In milliseconds: how long a new workspace may take to become ready. */
const readyWithin = 60_000;

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Saves everything in one workspace to a file, as of one moment, without its child workspaces. */
export async function saveWorkspace(file: string, flags: WorkspaceSnapshotFlags): Promise<void> {
  using client = workspaceClient(flags);
  const id = await idOf(client, flags.workspace);
  if (id === undefined) throw missing(flags.workspace);
  const target = resolve(file);
  const temporary = `${target}.part`;
  const stream = createWriteStream(temporary, { mode: 0o600 });
  let lines = 0;
  try {
    await followLines(client.cluster('root'), {
      path: `/capstan/workspaces/${id}/content`,
      idle,
      signal: new AbortController().signal,
      onLine: (line) => {
        stream.write(`${line}\n`);
        lines++;
      },
    });
    await new Promise<void>((done, fail) => stream.on('error', fail).end(done));
    await rename(temporary, target);
  } catch (error) {
    stream.destroy();
    await rm(temporary, { force: true });
    throw error;
  }
  write(`saved ${lines - 1} objects of ${flags.workspace} to ${file}`);
}

/** Restores a saved workspace into a workspace, which is created if missing. Existing objects are left alone. */
export async function restoreWorkspace(file: string, flags: WorkspaceSnapshotFlags): Promise<void> {
  const body = await readFile(resolve(file)).catch((error: Error) => {
    throw new Failure(
      'usage',
      `${file} cannot be read: ${error.message}. Give the path of a file written by "capstan snapshot save --workspace".`,
    );
  });
  using client = workspaceClient(flags);
  const id = (await idOf(client, flags.workspace)) ?? (await makeWorkspace(client, flags.workspace));
  const answer = await client.cluster('root').json<Imported>({
    method: 'POST',
    path: `/capstan/workspaces/${id}/content${flags.rebind === true ? '?rebind=true' : ''}`,
    headers: { 'content-type': 'application/x-ndjson' },
    body,
  });
  for (const line of describeImport(answer, flags.workspace)) write(line);
}

/** The result of an import, and what is left to do. */
export function describeImport({ created, kept, skipped, rebound, unbound }: Imported, workspace: string): string[] {
  const all = created + kept.length + skipped.length;
  const lines = [`restored ${created} of ${all} objects into ${workspace}; ${kept.length} already existed, ${skipped.length} skipped`];
  if (skipped.length > 0)
    lines.push(`skipped because they are workspaces, or bindings to exports that are bound here under another name: ${skipped.join(', ')}`);
  if (rebound.length > 0) lines.push(`rebound to the exports on this server: ${rebound.join(', ')}`);
  if (unbound.length === 0) return lines;
  lines.push('these APIBindings have no provider on this server; their objects are stored but not served:');
  for (const one of unbound) {
    const why = one.reason === 'NoExport' ? 'there is no such APIExport' : 'the APIExport has another identity';
    lines.push(`  ${one.binding} (${one.objects} objects) to ${one.export}: ${why}`);
  }
  const first = unbound.some(({ reason }) => reason === 'NoExport') ? 'create the missing exports, then ' : '';
  lines.push(`to give the objects to exports with the same path and name, ${first}run this again with --rebind`);
  return lines;
}

async function idOf(client: Client, path: string): Promise<string | undefined> {
  try {
    const { metadata } = await client.cluster(path).resource(logicalClusterKind).get(logicalClusterName);
    return metadata.annotations?.['kcp.io/cluster'];
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

async function makeWorkspace(client: Client, path: string): Promise<string> {
  const colon = path.lastIndexOf(':');
  if (colon <= 0) throw missing(path);
  const [parent, name] = [path.slice(0, colon), path.slice(colon + 1)];
  const children = client.cluster(parent).resource(workspaceKind);
  await children.create({ apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec: {} } as KubeObject);
  for (const deadline = Date.now() + readyWithin; ; ) {
    const { spec, status } = (await children.get(name)) as KubeObject & { spec?: { cluster?: string }; status?: { phase?: string } };
    if (status?.phase === 'Ready' && spec?.cluster !== undefined) return spec.cluster;
    if (Date.now() > deadline)
      throw new Failure(
        'unexpected',
        `the workspace ${path} is ${status?.phase ?? 'not initialized'} after ${readyWithin / 1000} s; "kubectl describe workspace ${name}" says why.`,
      );
    await sleep(100);
  }
}

const missing = (path: string): Failure =>
  new Failure('usage', `there is no workspace ${path}, or you have no access to it. "capstan ws tree" shows the workspaces you can use.`);

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { controllerManagerUser, platformControllersUser } from '@capstan/api';
import { fieldsOf, isObject, type JsonObject, parseYaml } from '@capstan/machinery';
import { adminKubeconfig, anonymousKubeconfig, type Kubeconfig, type Pki, userKubeconfig } from '@capstan/pki';
import { dump } from 'js-yaml';
import type { Addresses } from './addresses.ts';

/** The contexts that `capstan ws` and kcp's plugin maintain: their URLs follow the server's address. */
const followers = new Set(['workspace.kcp.io/current', 'workspace.kcp.io/previous']);

/** Writes the kubeconfigs of the administrator and of the processes beside the server; returns the path of the administrator's. */
export async function writeKubeconfigs(
  directory: string,
  pki: Pki,
  { url, localUrl }: Pick<Addresses, 'url' | 'localUrl'>,
): Promise<string> {
  for (const { file, name, keyPair } of [
    { file: 'controller-manager.kubeconfig', name: controllerManagerUser, keyPair: pki.controllerManager },
    { file: 'platform-controllers.kubeconfig', name: platformControllersUser, keyPair: pki.platformControllers },
  ]) {
    // They run beside this server and must work even if the load balancer or DNS fails.
    if (keyPair !== undefined) await writeWhole(join(directory, file), yaml(userKubeconfig(pki, localUrl, { name, keyPair })));
  }
  // These act for their callers only, with their tokens.
  for (const file of ['runtime-api.kubeconfig', 'console.kubeconfig'])
    await writeWhole(join(directory, file), yaml(anonymousKubeconfig(pki, localUrl)));
  // Written last: its existence means that the server is ready.
  const path = join(directory, 'admin.kubeconfig');
  const existing = await readIfThere(path);
  const wanted = adminKubeconfig(pki, url);
  const text = yaml(existing === undefined ? wanted : updated(existing, wanted));
  if (text === existing) return path;
  if (existing !== undefined && parsed(existing) === undefined) await writeWhole(`${path}.unreadable`, existing);
  await writeWhole(path, text);
  return path;
}

/**
 * A kubeconfig with our entries up to date. It keeps everything that people or tools added, and the current context: a restart
 * must not move users to another workspace.
 */
export function updated(existing: string, wanted: Kubeconfig): JsonObject {
  const content = parsed(existing);
  if (content === undefined) return wanted as unknown as JsonObject;
  const follow = following(content, wanted);
  return {
    ...content,
    clusters: merged(listOf(content['clusters']).map(follow), wanted.clusters),
    users: merged(listOf(content['users']), wanted.users),
    contexts: merged(listOf(content['contexts']), wanted.contexts),
    'current-context':
      typeof content['current-context'] === 'string' && content['current-context'] !== ''
        ? content['current-context']
        : wanted['current-context'],
  };
}

/** Our entries first, as in a new file, then the others in their order. */
function merged(existing: readonly JsonObject[], ours: readonly { readonly name: string }[]): JsonObject[] {
  const names = new Set<unknown>(ours.map(({ name }) => name));
  return [...(ours as unknown as readonly JsonObject[]), ...existing.filter(({ name }) => !names.has(name))];
}

function following(content: JsonObject, wanted: Kubeconfig): (entry: JsonObject) => JsonObject {
  const before = fieldsOf(listOf(content['clusters']).find(({ name }) => name === 'capstan')?.['cluster'])['server'];
  const { cluster } = wanted.clusters[0]!;
  return (entry) => {
    const { server, ...rest } = fieldsOf(entry['cluster']);
    if (typeof entry['name'] !== 'string' || !followers.has(entry['name']) || typeof server !== 'string' || typeof before !== 'string')
      return entry;
    if (server !== before && !server.startsWith(`${before}/`)) return entry;
    return { ...entry, cluster: { ...(rest as JsonObject), ...cluster, server: cluster.server + server.slice(before.length) } };
  };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const content = parseYaml(text);
    return isObject(content) ? (content as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject).map((item) => item as JsonObject) : [];
}

function yaml(content: object): string {
  return dump(content, { lineWidth: -1 });
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the file atomically. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}

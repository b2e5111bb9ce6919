import { randomUUID } from 'node:crypto';
import { type ClusterId, pathAnnotation } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, type KubeObject, status, textOf } from '@capstan/machinery';
import { prefixRange, type Store, StoreError } from '@capstan/store';
import { storedText } from '../../cache/entry.ts';
import { logicalClusterOf, type Tree } from '../tree.ts';
import { type Rebinding, rebindLines, type TransferLine } from './rebinding.ts';

/** The first line of an export. */
export interface TransferHeader {
  readonly kind: 'CapstanWorkspace';
  readonly version: 1;
  readonly cluster: ClusterId;
  readonly path: string;
  /** The state of things that it shows. */
  readonly revision: number;
}

export interface Imported extends Pick<Rebinding, 'unbound' | 'rebound'> {
  readonly created: number;
  /** Objects that were there, as `at`. They were left alone. */
  readonly kept: readonly string[];
  /** Objects that mean nothing elsewhere, or a second time: workspaces below this one are exported by themselves. */
  readonly skipped: readonly string[];
}

/** Not part of what a workspace holds: what it is, and what lies below it. */
const leftOut = [/^core\.kcp\.io\/logicalclusters\//, /^tenancy\.kcp\.io\/workspaces\//];
const pageSize = 500;

/** Everything in a workspace at one revision, a line each. */
export async function* exportLines(
  { store, objects }: { store: Store; objects: ObjectReader },
  cluster: ClusterId,
): AsyncGenerator<string, void, undefined> {
  const range = prefixRange(`/registry/${cluster}/`);
  const path = logicalClusterOf(objects, cluster)?.metadata.annotations?.[pathAnnotation] ?? cluster;
  let revision: number | undefined;
  for (let start = range.start; ; ) {
    const page = await store.list({ start, end: range.end }, { limit: pageSize, ...(revision !== undefined && { revision }) });
    if (revision === undefined) {
      revision = page.revision;
      yield JSON.stringify({ kind: 'CapstanWorkspace', version: 1, cluster, path, revision } satisfies TransferHeader);
    }
    for (const { key, value } of page.entries) {
      const at = key.slice(range.start.length);
      if (!leftOut.some((pattern) => pattern.test(at))) yield `{"at":${JSON.stringify(at)},"object":${value}}`;
    }
    if (page.remaining === 0) return;
    start = `${page.entries.at(-1)!.key}\0`;
  }
}

export interface ImportParts {
  readonly store: Store;
  readonly objects: ObjectReader;
  readonly tree: Tree;
  /** Throws for an object that must not be stored. */
  readonly check: (line: TransferLine, number: number) => void;
}

interface Place {
  readonly store: Store;
  readonly cluster: ClusterId;
}

/**
 * Puts what was exported into a workspace that is there. Objects get identities of their own; who owns whom stays. With `rebind`, objects of bound kinds are given to the
 * exports that have the same path and name here; it may be asked for later, too.
 */
export async function importLines(
  { store, objects, tree, check }: ImportParts,
  { cluster, rebind }: { cluster: ClusterId; rebind: boolean },
  text: string,
): Promise<Imported> {
  const [first = '', ...rest] = text.split('\n').filter((line) => line !== '');
  const header = parseHeader(first);
  const lines = rest.map((line, index) => parseLine(line, index + 2));
  for (const [index, line] of lines.entries()) check(line, index + 2);
  const path = logicalClusterOf(objects, cluster)?.metadata.annotations?.[pathAnnotation] ?? cluster;
  const uids = new Map(lines.map(({ object }) => [object.metadata.uid ?? '', randomUUID() as string]));
  const isLeftOut = ({ at }: TransferLine): boolean => leftOut.some((pattern) => pattern.test(at));
  const wanted = rebindLines(
    lines.filter((line) => !isLeftOut(line)),
    { objects, tree, cluster, from: header.path, rebind },
  );
  const kept: string[] = [];
  const rebound = new Set(wanted.rebound.map((name) => `apis.kcp.io/apibindings//${name}`));
  await Promise.all(
    wanted.lines.map(async ({ at, object }) => {
      const moved = rewritten(object, { uids, from: header.path, to: path });
      if (await createAt({ store, cluster }, at, moved)) return;
      kept.push(at);
      if (rebound.has(at)) await replaceStatus({ store, cluster }, at, moved);
    }),
  );
  // From an earlier import, when nobody could be given them.
  await Promise.all([...wanted.moved.values()].map((at) => removeAt({ store, cluster }, at)));
  const skipped = [...lines.filter(isLeftOut).map(({ at }) => at), ...wanted.skipped];
  const { unbound } = wanted;
  return { created: wanted.lines.length - kept.length, kept: kept.sort(), skipped, unbound, rebound: wanted.rebound };
}

/** False when something is there already. */
async function createAt({ store, cluster }: Place, at: string, object: KubeObject): Promise<boolean> {
  try {
    await store.create(`/registry/${cluster}/${at}`, storedText(object));
    return true;
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'exists') throw error;
    return false;
  }
}

/** A binding that came with an earlier import becomes one of the export that is here. */
async function replaceStatus({ store, cluster }: Place, at: string, { metadata, status: bound }: KubeObject): Promise<void> {
  const current = await store.get(`/registry/${cluster}/${at}`);
  if (current === undefined) return;
  const object = JSON.parse(current.value) as KubeObject;
  const labels = { ...object.metadata.labels, ...metadata.labels };
  await store.update(
    current.key,
    storedText({ ...object, metadata: { ...object.metadata, labels }, ...(bound !== undefined && { status: bound }) }),
    current.revision,
  );
}

async function removeAt({ store, cluster }: Place, at: string): Promise<void> {
  const found = await store.get(`/registry/${cluster}/${at}`);
  if (found !== undefined) await store.delete(found.key, found.revision);
}

function rewritten(object: KubeObject, { uids, from, to }: { uids: ReadonlyMap<string, string>; from: string; to: string }): KubeObject {
  const { uid = '', annotations, ownerReferences } = object.metadata;
  const metadata = { ...object.metadata, uid: uids.get(uid) ?? uid };
  if (annotations?.[pathAnnotation] === from) metadata.annotations = { ...annotations, [pathAnnotation]: to };
  if (ownerReferences !== undefined)
    metadata.ownerReferences = ownerReferences.map((owner) => ({ ...owner, uid: uids.get(owner.uid) ?? owner.uid }));
  return { ...object, metadata };
}

function parseHeader(line: string): TransferHeader {
  const fields = fieldsOf(parse(line, 1));
  if (fields['kind'] !== 'CapstanWorkspace' || fields['version'] !== 1)
    throw status.badRequest('line 1: expected the header of an exported workspace, {"kind":"CapstanWorkspace","version":1,…}');
  return fields as unknown as TransferHeader;
}

/** `group/resource/namespace/name`; the namespace may be empty. */
const placePattern = /^[a-z0-9.-]+\/[a-z0-9:.-]+\/[^/]*\/[^/]+$/;

function parseLine(line: string, number: number): TransferLine {
  const fields = fieldsOf(parse(line, number));
  const at = textOf(fields['at']);
  const object = fieldsOf(fields['object']);
  if (!placePattern.test(at) || textOf(object['kind']) === '' || textOf(fieldsOf(object['metadata'])['name']) === '')
    throw status.badRequest(
      `line ${number}: expected {"at":"group/resource/namespace/name","object":{…}} with an object that has a kind and a name`,
    );
  return { at, object: object as unknown as KubeObject };
}

function parse(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw status.badRequest(`line ${number}: is not JSON: ${(error as Error).message}`);
  }
}

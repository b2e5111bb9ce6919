import { asClusterId, type ClusterId, isPath, type LogicalCluster, pathAnnotation, rootCluster, typeAnnotation } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { status } from '@capstan/machinery';
import type { Store } from '@capstan/store';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { sendJson } from '../../handlers/nonresource.ts';
import type { AnswerStream, Exchange } from '../../http/exchange.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Backend } from '../../registry/objects.ts';
import type { Page } from '../../registry/page.ts';
import type { Query } from '../../request/info.ts';
import { serverContext } from '../../upkeep/context.ts';
import { isEnding } from '../admission/workspace-lifecycle.ts';
import { logicalClusterOf, logicalClusters, Tree } from '../tree.ts';
import { defaultBindingsOf, type WorkspaceTypes } from '../types/workspace-types.ts';
import { createWorkspace, parseCreation } from './create.ts';
import type { DefaultBindings } from './default-bindings.ts';
import { finalizeWorkspace } from './finalize.ts';
import { checkPlatformLine } from './platform-lines.ts';
import { type Purged, purge } from './purge.ts';
import { exportLines, type ImportParts, importLines } from './transfer.ts';
import { writeMissing } from './writing.ts';

/** Operations on one workspace as a whole lie below this path of the root workspace: who may call them can read and delete everything in it. */
export const contentsPath = '/capstan/workspaces/';

/** One object, and what is said about it. */
const largestCreation = 1 << 20;
/** An import is held in memory while it is read. */
const largestImport = 256 << 20;

export interface ContentsOptions {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly objects: ObjectReader;
  readonly backend: Backend;
  readonly kinds: () => Catalog;
  readonly types: WorkspaceTypes;
  readonly bindings: DefaultBindings;
  readonly now: () => Date;
}

/**
 * `<id>/create`: POST creates the workspace. `<id>/bindings`: POST creates its default bindings and reports those that are not complete.
 * `<id>/content`: DELETE purges it, GET exports it, POST imports into it.
 */
export function contentsPage(options: ContentsOptions): Page {
  return async (exchange, info) => {
    const [id = '', part = '', ...rest] = info.path.slice(contentsPath.length).split('/');
    const action = `${exchange.method} ${part}`;
    if (rest.length > 0 || id === rootCluster || id.includes(':') || !isPath(id)) throw status.noSuchResource();
    // Only the platform comes here, and it also names workspaces that do not exist yet, or no longer.
    const cluster = asClusterId(id);
    switch (action) {
      case 'DELETE content':
        return sendJson(exchange, info, JSON.stringify(await finalize(options, cluster, ownerIn(info.query))));
      case 'POST create': {
        const wanted = parseCreation((await exchange.body(largestCreation)).toString('utf8'));
        return sendJson(exchange, info, JSON.stringify(await createWorkspace(options, cluster, wanted)));
      }
      case 'GET content':
        existing(options, cluster);
        return sendLines(exchange, exportLines(options, cluster));
      case 'POST content': {
        checkOpen(options, existing(options, cluster));
        const text = (await exchange.body(largestImport)).toString('utf8');
        const rebind = info.query.get('rebind') === 'true';
        const context = serverContext({ cluster, objects: options.cache, now: options.now });
        const kinds = options.kinds();
        const check: ImportParts['check'] = (line, number) => checkPlatformLine(line, { line: number, kinds, context });
        const parts = { ...options, tree: new Tree(options.cache), check };
        return sendJson(exchange, info, JSON.stringify(await importLines(parts, { cluster, rebind }, text)));
      }
      case 'POST bindings':
        return sendJson(exchange, info, JSON.stringify(await bind(options, cluster)));
      default:
        throw status.methodNotAllowed();
    }
  };
}

/** Purges a workspace and, once it is gone, deletes the Workspace that the request names. */
async function finalize(
  options: ContentsOptions,
  cluster: ClusterId,
  owner: Owner | undefined,
): Promise<Purged & { workspaceDeleted: boolean }> {
  const purged = await purge(options, { cluster, now: options.now() });
  return { ...purged, workspaceDeleted: purged.gone && owner !== undefined && (await finalizeWorkspace(options, owner)) };
}

interface Owner {
  readonly cluster: ClusterId;
  readonly name: string;
  readonly uid: string;
}

/** `?ownerCluster=…&ownerName=…&ownerUid=…`. */
function ownerIn(query: Query): Owner | undefined {
  const [cluster, name, uid] = [query.get('ownerCluster'), query.get('ownerName'), query.get('ownerUid')];
  return cluster === null || name === null || uid === null ? undefined : { cluster: asClusterId(cluster), name, uid };
}

/** Bindings that are not complete, and exports that are not there. */
async function bind(options: ContentsOptions, cluster: ClusterId): Promise<{ incomplete: readonly string[]; missing: readonly string[] }> {
  const { annotations = {} } = existing(options, cluster).metadata;
  const text = annotations[typeAnnotation] ?? '';
  const colon = text.lastIndexOf(':');
  const type = options.types.resolve({ path: text.slice(0, Math.max(colon, 0)), name: text.slice(colon + 1) }, rootCluster);
  const place = { cluster, path: annotations[pathAnnotation] ?? cluster, now: options.now() };
  const { wanted, incomplete, missing } = options.bindings.state(defaultBindingsOf(options.types.withInherited(type)), place);
  const catalog = options.kinds();
  await writeMissing(
    options,
    cluster,
    wanted.map((object) => ({ resource: catalog.ofObject(object), object })),
  );
  return { incomplete, missing };
}

function existing({ objects }: ContentsOptions, cluster: ClusterId): LogicalCluster {
  const found = logicalClusterOf(objects, cluster);
  if (found === undefined) throw status.notFound(logicalClusters, cluster);
  return found;
}

/** An import does not pass admission, which refuses new objects in a workspace that is being deleted. */
function checkOpen({ cache }: ContentsOptions, logicalCluster: LogicalCluster): void {
  if (!isEnding(cache, logicalCluster)) return;
  throw status.forbidden(
    logicalClusters,
    logicalCluster.metadata.name ?? '',
    'the workspace is being terminated and accepts no new content',
  );
}

async function sendLines(exchange: Exchange, lines: AsyncIterable<string>): Promise<void> {
  const answer = exchange.stream(200, 'application/x-ndjson');
  for await (const line of lines) {
    answer.write(Buffer.from(`${line}\n`));
    if (answer.pending > 4 << 20) await drained(answer, exchange);
  }
  answer.end();
}

/** Resolves when the client has taken what waits for it, or is gone. */
function drained(answer: AnswerStream, exchange: Exchange): Promise<void> {
  return new Promise((resolve) => {
    answer.onDrain(resolve);
    exchange.onClose(resolve);
  });
}

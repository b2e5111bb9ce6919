import { everyCluster, isPath, type WorkspacePath } from '@capstan/api';
import { MalformedUrl } from './malformed-url.ts';

/** The place in the workspace tree that a request's path names. Nothing has been looked up yet. */
export type Place =
  | { readonly kind: 'plain' }
  /** `/clusters/<path>`: a path, an id, or `*`. */
  | { readonly kind: 'workspace'; readonly path: PlacePath }
  /** `/services/<view>/<of…>/clusters/<path>`. */
  | { readonly kind: 'view'; readonly view: ViewName; readonly of: readonly string[]; readonly path: PlacePath };

export type PlacePath = WorkspacePath | typeof everyCluster;

export type ViewName = 'apiexport' | 'apiresourceschema' | 'cache' | 'initializingworkspaces' | 'replication' | 'terminatingworkspaces';

/** The number of segments between the view's name and `/clusters`. */
const views: ReadonlyMap<string, { view: ViewName; segments: number }> = new Map([
  ['apiexport', { view: 'apiexport', segments: 2 }],
  ['apiresourceschema', { view: 'apiresourceschema', segments: 1 }],
  ['cache', { view: 'cache', segments: 2 }],
  ['initializingworkspaces', { view: 'initializingworkspaces', segments: 1 }],
  ['replication', { view: 'replication', segments: 2 }],
  ['terminatingworkspaces', { view: 'terminatingworkspaces', segments: 1 }],
]);

export const plain: Place = { kind: 'plain' };

/** The common start of all paths to a place. */
export function placePrefix(place: Place): string {
  if (place.kind === 'plain') return '';
  return place.kind === 'workspace' ? `/clusters/${place.path}` : `/services/${place.view}/${place.of.join('/')}/clusters/${place.path}`;
}

/**
 * Splits a path into its place and the rest. `decode` resolves percent escapes; its result must be a valid name, so that nothing
 * can hide in an escape.
 */
export function parsePlace(path: string, decode: (text: string) => string): { place: Place; rest: string } {
  if (path.startsWith('/clusters/'))
    return inClusters(path, '/clusters/'.length, decode, (cluster) => ({ kind: 'workspace', path: cluster }));
  if (!path.startsWith('/services/')) return { place: plain, rest: path };
  const parts = path.split('/');
  const view = views.get(parts[2] ?? '');
  if (view === undefined) return { place: plain, rest: path };
  const of = parts.slice(3, 3 + view.segments).map(decode);
  if (of.length < view.segments || of.includes('') || parts[3 + view.segments] !== 'clusters') return { place: plain, rest: path };
  const start = parts.slice(0, 4 + view.segments).join('/').length + 1;
  return inClusters(path, start, decode, (cluster) => ({ kind: 'view', view: view.view, of, path: cluster }));
}

function inClusters(
  path: string,
  start: number,
  decode: (text: string) => string,
  place: (cluster: PlacePath) => Place,
): { place: Place; rest: string } {
  const slash = path.indexOf('/', start);
  const end = slash < 0 ? path.length : slash;
  const cluster = decode(path.slice(start, end));
  if (cluster !== everyCluster && !isPath(cluster)) {
    throw new MalformedUrl(`invalid cluster: ${JSON.stringify(cluster)} does not match a workspace's path, its id or "*"`);
  }
  return { place: place(cluster), rest: slash < 0 ? '/' : path.slice(slash) };
}

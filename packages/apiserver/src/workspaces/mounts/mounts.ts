import { fieldsOf, type StatusError, status, textOf } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { RequestInfo } from '../../registry/scope.ts';
import type { ParsedRequest } from '../../request/info.ts';
import { parseRequest } from '../../request/info.ts';
import { beginningOf, clusterOf, workspaces } from '../tree.ts';
import { below, type MountBackend, staysBelow, type Target, targetOf } from './target.ts';

/** Mounts may lead to mounts; more than so many one after the other lead in a circle. */
const mostHops = 8;

export interface MountsOptions {
  readonly cache: WatchCache;
  /** Where clients reach this server. */
  readonly url: () => string;
  readonly backends: readonly MountBackend[];
}

/** A request that is not for this server. */
export type Away =
  /** Somebody else answers it. `url` has the path and the query of the request. */
  | { readonly kind: 'elsewhere'; readonly backend: MountBackend; readonly url: URL }
  /** Nobody can. */
  | { readonly kind: 'nowhere'; readonly error: StatusError /** Where the mount lies. */; readonly parent: string };

/** A request after mounts on its path were followed. */
export interface RoutedRequest extends RequestInfo {
  /** Set if a mount leads the request away from this server. */
  readonly away?: Away;
}

/** A mounted workspace on a path, and the names that come after it. */
interface Mount {
  readonly entry: CacheEntry;
  /** The id of the workspace that it lies in. */
  readonly parent: string;
  readonly names: readonly string[];
}

/** Workspaces that are mounted: their names lead to another workspace, or to another server. */
export class Mounts {
  readonly #options: MountsOptions;

  constructor(options: MountsOptions) {
    this.#options = options;
  }

  /** Where a URL leads; undefined when no mount may lead there. */
  target(url: string): Target | undefined {
    const { backends } = this.#options;
    return targetOf(url, { own: this.#options.url(), backends });
  }

  /** The request, having followed the mounts on its way. */
  follow(info: ParsedRequest, url: string): RoutedRequest {
    let followed = info;
    let at = url;
    for (let hops = 0; followed.place.kind === 'workspace'; hops++) {
      const mount = this.#mountOn(followed.place.path);
      if (mount === undefined) return followed;
      const target = hops === mostHops ? undefined : this.#targetOf(mount);
      const rest = restOf(at);
      if (target?.kind !== 'here') return { ...followed, cluster: followed.place.path, away: leaving(target, mount.parent, rest) };
      at = `/clusters/${target.path}${rest}`;
      followed = parseRequest(info.method, at);
    }
    return followed;
  }

  #mountOn(path: string): Mount | undefined {
    const { first, names } = beginningOf(path);
    const children = this.#options.cache.resource(workspaces).entries;
    let id = first;
    for (const [index, name] of names.entries()) {
      const entry = children.get(`${id}//${name}`);
      if (entry === undefined) return undefined;
      const parent = id;
      id = clusterOf(entry);
      if (id === '') return isMounted(entry) ? { entry, parent, names: names.slice(index + 1) } : undefined;
    }
    return undefined;
  }

  #targetOf({ entry, names }: Mount): Target | undefined {
    const workspace = entry.object;
    if (textOf(fieldsOf(workspace['status'])['phase']) !== 'Ready') return undefined;
    const target = this.target(textOf(fieldsOf(workspace['spec'])['URL']));
    return target && below(target, names);
  }
}

function leaving(target: (Target & { readonly kind: 'away' }) | undefined, parent: string, rest: string): Away {
  if (target === undefined) return { kind: 'nowhere', parent, error: status.serviceUnavailable('Not available.') };
  const url = joined(target.url, rest);
  if (url === undefined) return { kind: 'nowhere', parent, error: status.badRequest('the path leads out of the workspace') };
  return { kind: 'elsewhere', backend: target.backend, url };
}

const mounted = new WeakMap<CacheEntry, boolean>();

function isMounted(entry: CacheEntry): boolean {
  let known = mounted.get(entry);
  if (known === undefined) mounted.set(entry, (known = fieldsOf(entry.parse()['spec'])['mount'] !== undefined));
  return known;
}

/** What of a URL comes after the workspace, as it was written. */
function restOf(url: string): string {
  const end = /[/?]/.exec(url.slice('/clusters/'.length))?.index;
  return end === undefined ? '' : url.slice('/clusters/'.length + end);
}

function joined(target: URL, rest: string): URL | undefined {
  const mark = rest.indexOf('?');
  const path = mark < 0 ? rest : rest.slice(0, mark);
  if (!staysBelow(path)) return undefined;
  const url = new URL(target);
  url.pathname = `${target.pathname.replace(/\/$/, '')}${path}` || '/';
  url.search = mark < 0 ? '' : rest.slice(mark);
  return url;
}

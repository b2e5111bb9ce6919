import { asClusterId, type ClusterId, type Workspace, type WorkspacePath } from '@capstan/api';
import { type StatusError, status } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { staysBelow } from '../../request/below.ts';
import type { ParsedRequest } from '../../request/info.ts';
import { parseRequest } from '../../request/info.ts';
import { beginningOf, clusterOf, workspaces } from '../tree.ts';
import { below, type MountBackend, type Target, targetOf } from './target.ts';

/** Mounts may lead to other mounts; longer chains are taken for cycles. */
const mostHops = 8;

export interface MountsOptions {
  readonly cache: WatchCache;
  /** The URL of this server for clients. */
  readonly url: () => string;
  readonly backends: readonly MountBackend[];
}

/** A request that this server does not handle. */
export type Away =
  /** A backend handles it. `url` includes the path and query of the request. */
  | { readonly kind: 'elsewhere'; readonly backend: MountBackend; readonly url: URL }
  /** Nobody can handle it. */
  | {
      readonly kind: 'nowhere';
      readonly error: StatusError /** The id of the workspace that contains the mount. */;
      readonly parent: ClusterId;
    };

/** A request that a mount leads away from this server. */
export interface AwayRequest extends Omit<ParsedRequest, 'cluster'> {
  /** The path in the request: it leads to no workspace of this server. */
  readonly cluster: WorkspacePath;
  readonly away: Away;
}

export const isAway = (info: ParsedRequest | AwayRequest): info is AwayRequest => (info as Partial<AwayRequest>).away !== undefined;

/** A mounted workspace in a path, and the names after it. */
interface Mount {
  readonly entry: CacheEntry<Workspace>;
  /** The id of the workspace that contains it. */
  readonly parent: ClusterId;
  readonly names: readonly string[];
}

/** Mounted workspaces, which are served by another workspace or server. */
export class Mounts {
  readonly #options: MountsOptions;

  constructor(options: MountsOptions) {
    this.#options = options;
  }

  /** The target of a URL; undefined if mounts may not lead there. */
  target(url: string): Target | undefined {
    const { backends } = this.#options;
    return targetOf(url, { own: this.#options.url(), backends });
  }

  /** The request after following the mounts in its path. */
  follow(info: ParsedRequest, url: string): ParsedRequest | AwayRequest {
    let followed = info;
    let at = url;
    for (let hops = 0; followed.place.kind === 'workspace'; hops++) {
      const mount = this.#mountOn(followed.place.path);
      if (mount === undefined) return followed;
      const target = hops === mostHops ? undefined : this.#targetOf(mount);
      const rest = restOf(at);
      if (target?.kind !== 'here')
        return { ...followed, cluster: followed.place.path as WorkspacePath, away: leaving(target, mount.parent, rest) };
      at = `/clusters/${target.path}${rest}`;
      followed = parseRequest(info.method, at);
    }
    return followed;
  }

  #mountOn(path: string): Mount | undefined {
    const { first, names } = beginningOf(path);
    const children = this.#options.cache.resource(workspaces).entries;
    // Names are looked up below it, so an id that a client made up leads nowhere.
    let id = asClusterId(first);
    for (const [index, name] of names.entries()) {
      const entry = children.get(`${id}//${name}`);
      if (entry === undefined) return undefined;
      const parent = id;
      id = asClusterId(clusterOf(entry));
      if (id === '') return isMounted(entry) ? { entry, parent, names: names.slice(index + 1) } : undefined;
    }
    return undefined;
  }

  #targetOf({ entry, names }: Mount): Target | undefined {
    const { spec, status: state } = entry.object;
    if (state?.phase !== 'Ready') return undefined;
    const target = this.target(spec?.URL ?? '');
    return target && below(target, names);
  }
}

function leaving(target: (Target & { readonly kind: 'away' }) | undefined, parent: ClusterId, rest: string): Away {
  if (target === undefined) return { kind: 'nowhere', parent, error: status.serviceUnavailable('Not available.') };
  const url = joined(target.url, rest);
  if (url === undefined) return { kind: 'nowhere', parent, error: status.badRequest('the path leaves the workspace') };
  return { kind: 'elsewhere', backend: target.backend, url };
}

const mounted = new WeakMap<CacheEntry<Workspace>, boolean>();

function isMounted(entry: CacheEntry<Workspace>): boolean {
  let known = mounted.get(entry);
  if (known === undefined) mounted.set(entry, (known = entry.parse().spec?.mount !== undefined));
  return known;
}

/** The rest of a URL after the workspace, unchanged. */
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

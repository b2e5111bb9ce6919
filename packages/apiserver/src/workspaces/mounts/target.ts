import { isPath } from '@capstan/api';

/** A server that mounts may lead to: any URL that starts with this one. */
export interface MountBackend {
  readonly url: string;
  /** PEM of the CAs to trust; the system's if undefined. */
  readonly authorities?: string;
  /** The client certificate of this server, which makes the backend trust its identity headers. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** The target of a mount. */
export type Target =
  /** A workspace of this server. */
  | { readonly kind: 'here'; readonly path: string }
  /** A URL on a backend. */
  | { readonly kind: 'away'; readonly backend: MountBackend; readonly url: URL };

const clusters = '/clusters/';

/** Resolves a URL that a tenant may have written. Undefined unless it is on this server or on a configured backend. */
export function targetOf(text: string, { own, backends }: { own: string; backends: readonly MountBackend[] }): Target | undefined {
  const url = URL.parse(text);
  if (url === null || !isPlain(url)) return undefined;
  if (url.origin === URL.parse(own)?.origin) {
    const path = url.pathname.startsWith(clusters) ? url.pathname.slice(clusters.length).replace(/\/$/, '') : '';
    return isPath(path) ? { kind: 'here', path } : undefined;
  }
  const backend = backends.find((one) => isBelow(url, new URL(one.url)));
  return backend && { kind: 'away', backend, url };
}

/** The target of a workspace below this one. Only targets that are workspaces have any. */
export function below(target: Target, names: readonly string[]): Target | undefined {
  if (names.length === 0) return target;
  const more = names.map((name) => `:${name}`).join('');
  if (target.kind === 'here') return { kind: 'here', path: target.path + more };
  const path = target.url.pathname.replace(/\/$/, '');
  const at = path.lastIndexOf(clusters);
  if (at < 0 || !isPath(path.slice(at + clusters.length))) return undefined;
  const url = new URL(target.url);
  url.pathname = path + more;
  return { ...target, url };
}

/** Whether the URL has no credentials, query, fragment, or characters that others may decode differently. */
function isPlain({ protocol, username, password, search, hash, pathname }: URL): boolean {
  if (protocol !== 'https:' && protocol !== 'http:') return false;
  return username === '' && password === '' && search === '' && hash === '' && /^[\w./:~-]*$/.test(pathname) && !pathname.includes('//');
}

function isBelow(url: URL, top: URL): boolean {
  const prefix = top.pathname.replace(/\/$/, '');
  return url.origin === top.origin && (url.pathname === prefix || url.pathname.startsWith(`${prefix}/`));
}

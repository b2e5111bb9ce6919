import { isPath } from '@capstan/api';

/** Where mounts may lead beside the server itself: whatever begins with this URL. */
export interface MountBackend {
  readonly url: string;
  /** PEM of the authorities that may have signed its certificate; those of the system when absent. */
  readonly authorities?: string;
  /** What the server shows, so that the other side believes it who asks. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** Where a mount leads. */
export type Target =
  /** To a workspace of this server. */
  | { readonly kind: 'here'; readonly path: string }
  /** To what somebody else serves. */
  | { readonly kind: 'away'; readonly backend: MountBackend; readonly url: URL };

const clusters = '/clusters/';

/** Finds out where a URL leads that a tenant may have written. Whatever the operator has not named leads nowhere. */
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

/** The same target, for a workspace below it: one that leads to a workspace has others below. */
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

/** Nothing is hidden in it: no user, no query, no signs that others may read in another way. */
function isPlain({ protocol, username, password, search, hash, pathname }: URL): boolean {
  if (protocol !== 'https:' && protocol !== 'http:') return false;
  return username === '' && password === '' && search === '' && hash === '' && /^[\w./:~-]*$/.test(pathname) && !pathname.includes('//');
}

function isBelow(url: URL, top: URL): boolean {
  const prefix = top.pathname.replace(/\/$/, '');
  return url.origin === top.origin && (url.pathname === prefix || url.pathname.startsWith(`${prefix}/`));
}

/** Whether what follows the target in a request stays below it. */
export function staysBelow(path: string): boolean {
  if (path.includes('\\') || path.includes('#')) return false;
  return path.split('/').every((segment) => {
    const plain = decoded(segment);
    return plain !== undefined && plain !== '.' && plain !== '..' && !/[\\/]\.\.?(?:[\\/]|$)|^\.\.?[\\/]/.test(plain);
  });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

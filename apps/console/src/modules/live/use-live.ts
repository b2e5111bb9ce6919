import type { KindDefinition, KindReference, ObjectOf } from '@capstan/api';
import { useCallback, useMemo, useRef, useSyncExternalStore } from 'react';
import { listPath, type Place, reportSignedOut } from '../kube/client.ts';
import { troubleOfEnd } from '../session/trouble.ts';
import { type Link, LiveConnection, type LiveSocket, type StreamEnd } from './connection.ts';
import type { Followed, LiveRequest } from './protocol.ts';

let connection: LiveConnection | undefined;

function open(): LiveSocket {
  const address = new URL('/live', location.href);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(address) as unknown as LiveSocket;
}

/** A browser does not say why a WebSocket was refused. */
async function checkSession(end: StreamEnd): Promise<void> {
  const answer = await fetch('/session', { cache: 'no-store' }).catch(() => undefined);
  if (answer?.status === 401) reportSignedOut(troubleOfEnd(end));
}

function live(): LiveConnection {
  if (connection !== undefined) return connection;
  const made = new LiveConnection({ open, onLost: (end) => void checkSession(end) });
  window.addEventListener('online', () => made.retryNow());
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && made.retryNow());
  return (connection = made);
}

/** After somebody else signs in, nothing of the person before may be shown. */
export function closeLive(): void {
  connection?.close();
  connection = undefined;
}

/** Asks again for everything that pages follow and did not get. */
export const requestFailed = (): void => live().requestFailed();

const nothing: Followed<never> = { state: 'loading' };

function useFollowed(request: LiveRequest | undefined): Followed<unknown> {
  const subscribe = useCallback((listener: () => void) => (request === undefined ? () => {} : live().follow(request, listener)), [request]);
  return useSyncExternalStore(subscribe, () => (request === undefined ? nothing : live().read(request)));
}

const sameAll = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

/** Follows several things at once. */
function useFollowedEach(requests: readonly LiveRequest[]): readonly Followed<unknown>[] {
  const last = useRef<readonly Followed<unknown>[]>([]);
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = requests.map((request) => live().follow(request, listener));
      return () => {
        for (const end of ends) end();
      };
    },
    [requests],
  );
  return useSyncExternalStore(subscribe, () => {
    const now = requests.map((request) => live().read(request));
    return sameAll(now, last.current) ? last.current : (last.current = now);
  });
}

export type LiveItems<T> = Followed<readonly T[]>;

/** The type of the objects of a kind, which may be defined in this platform or only referred to. */
export type ObjectIn<K extends KindReference> = K extends KindDefinition ? ObjectOf<K> : K extends KindReference<infer T> ? T : never;

/** Follows the objects of a kind. Nothing is followed without a kind. */
export function useLive<K extends KindReference>(
  kind: K | undefined,
  place: Place & { readonly fieldSelector?: string; readonly labelSelector?: string },
): LiveItems<ObjectIn<K>> {
  const path = kind === undefined ? undefined : listPath(kind, place);
  const { fieldSelector, labelSelector } = place;
  const request = useMemo(
    () =>
      path === undefined
        ? undefined
        : { path, ...(fieldSelector !== undefined && { fieldSelector }), ...(labelSelector !== undefined && { labelSelector }) },
    [path, fieldSelector, labelSelector],
  );
  return useFollowed(request) as LiveItems<ObjectIn<K>>;
}

/** Follows the objects of a kind that match one of several selectors. What some of the lists lack does not hide the others. */
export function useLiveMatching<K extends KindReference>(
  kind: K,
  { fieldSelectors, ...place }: Place & { readonly fieldSelectors: readonly string[] },
): LiveItems<ObjectIn<K>> {
  const path = listPath(kind, place);
  const wanted = fieldSelectors.join('\n');
  const requests = useMemo(() => wanted.split('\n').map((fieldSelector) => ({ path, fieldSelector })), [path, wanted]);
  const lists = useFollowedEach(requests) as readonly LiveItems<ObjectIn<K>>[];
  return useMemo(() => {
    const known = lists.flatMap((list) => (list.state === 'content' ? list.content : []));
    return lists.some(({ state }) => state === 'content') ? { state: 'content', content: known } : (lists[0] ?? nothing);
  }, [lists]);
}

/** Follows one object. `content` is undefined if there is none. */
export function useLiveObject<K extends KindReference>(
  kind: K,
  place: Place & { readonly name: string },
): Followed<ObjectIn<K> | undefined> {
  const list = useLive(kind, { ...place, fieldSelector: `metadata.name=${place.name}` });
  return useMemo(() => (list.state === 'content' ? { state: 'content', content: list.content[0] } : list), [list]);
}

/** Follows a value without a watch, such as a utilisation. */
export function useSample<T>(path: string | undefined, seconds: number): Followed<T> {
  const request = useMemo(() => (path === undefined ? undefined : { sample: path, seconds }), [path, seconds]);
  return useFollowed(request) as Followed<T>;
}

export function useLink(): Link {
  return useSyncExternalStore(
    (listener) => live().onLink(listener),
    () => live().link,
  );
}

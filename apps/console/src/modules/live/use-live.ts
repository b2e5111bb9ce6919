import type { KindDefinition, KindReference, ObjectOf } from '@capstan/api';
import { useCallback, useMemo, useSyncExternalStore } from 'react';
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

const nothing: Followed<never> = { state: 'loading' };

function useFollowed(request: LiveRequest | undefined): Followed<unknown> {
  const subscribe = useCallback((listener: () => void) => (request === undefined ? () => {} : live().follow(request, listener)), [request]);
  return useSyncExternalStore(subscribe, () => (request === undefined ? nothing : live().read(request)));
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

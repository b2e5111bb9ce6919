import type { KubeObject } from '@capstan/machinery/objects';
import { LiveList } from './list.ts';
import { type Followed, isSample, keyOf, type LiveMessage, type LiveRequest, messageFor } from './protocol.ts';

/** How the process ended a stream. */
export interface StreamEnd {
  readonly code: number;
  readonly reason: string;
}

/** The part of a WebSocket that is used. */
export interface LiveSocket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onclose: ((end: StreamEnd) => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
}

export interface LiveOptions {
  readonly open: () => LiveSocket;
  /** Called when a connection could not be opened, or was lost: the session may have ended. */
  readonly onLost?: (end: StreamEnd) => void;
  /** In milliseconds: how long something that nobody reads any more is still followed, so that going back to a page is instant. */
  readonly linger?: number;
  /** In milliseconds: the wait before the first attempt to connect again, and the longest. */
  readonly firstWait?: number;
  readonly longestWait?: number;
  readonly random?: () => number;
}

/** `lost`: the process does not answer. `upstream-lost`: it does, and the API server does not. */
export type Link = { readonly state: 'connecting' | 'connected' } | { readonly state: 'lost' | 'upstream-lost'; readonly since: string };

interface Entry {
  /** On the wire. Another one after each request. */
  key: string;
  readonly request: LiveRequest;
  readonly listeners: Set<() => void>;
  readonly list: LiveList;
  followed: Followed<unknown>;
  ending: ReturnType<typeof setTimeout> | undefined;
}

const loading: Followed<never> = { state: 'loading' };

/** The one stream of a tab: everything that pages follow goes through it, once for each request. */
export class LiveConnection {
  readonly #options: Required<LiveOptions>;
  readonly #entries = new Map<string, Entry>();
  readonly #byWireKey = new Map<string, Entry>();
  readonly #linkListeners = new Set<() => void>();
  #socket: LiveSocket | undefined;
  #isOpen = false;
  #link: Link = { state: 'connecting' };
  #attempts = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastKey = 0;

  constructor(options: LiveOptions) {
    this.#options = { onLost: () => {}, linger: 10_000, firstWait: 500, longestWait: 15_000, random: Math.random, ...options };
  }

  get link(): Link {
    return this.#link;
  }

  onLink(listener: () => void): () => void {
    this.#linkListeners.add(listener);
    return () => this.#linkListeners.delete(listener);
  }

  /** Follows something until the returned function is called. */
  follow(request: LiveRequest, listener: () => void): () => void {
    const entry = this.#entryOf(request);
    clearTimeout(entry.ending);
    entry.ending = undefined;
    entry.listeners.add(listener);
    return () => {
      entry.listeners.delete(listener);
      if (entry.listeners.size === 0) entry.ending = setTimeout(() => this.#forget(entry), this.#options.linger);
    };
  }

  /** The same object until something changes. */
  read(request: LiveRequest): Followed<unknown> {
    return this.#entries.get(keyOf(request))?.followed ?? loading;
  }

  /** Tries at once, as when the machine is online again. */
  retryNow(): void {
    if (this.#retry === undefined) return;
    clearTimeout(this.#retry);
    this.#connect();
  }

  /** Requests everything again that was refused or has failed: a role or a kind may be there by now. */
  requestFailed(): void {
    for (const entry of this.#entries.values()) {
      if (entry.followed.state !== 'error') continue;
      this.#byWireKey.delete(entry.key);
      if (this.#isOpen) this.#send({ remove: entry.key });
      entry.key = String(++this.#lastKey);
      entry.followed = loading;
      this.#byWireKey.set(entry.key, entry);
      if (this.#isOpen) this.#send(messageFor(entry.key, entry.request));
      for (const listener of entry.listeners) listener();
    }
  }

  close(): void {
    clearTimeout(this.#retry);
    for (const { ending } of this.#entries.values()) clearTimeout(ending);
    this.#entries.clear();
    this.#byWireKey.clear();
    this.#drop();
  }

  #entryOf(request: LiveRequest): Entry {
    const id = keyOf(request);
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const key = String(++this.#lastKey);
    const entry: Entry = { key, request, listeners: new Set(), list: new LiveList(), followed: loading, ending: undefined };
    this.#entries.set(id, entry);
    this.#byWireKey.set(key, entry);
    if (this.#socket === undefined && this.#retry === undefined) this.#connect();
    else if (this.#isOpen) this.#send(messageFor(key, request));
    return entry;
  }

  #forget(entry: Entry): void {
    this.#entries.delete(keyOf(entry.request));
    this.#byWireKey.delete(entry.key);
    if (this.#isOpen) this.#send({ remove: entry.key });
  }

  #connect(): void {
    this.#retry = undefined;
    const socket = this.#options.open();
    this.#socket = socket;
    socket.onopen = () => {
      this.#attempts = 0;
      this.#isOpen = true;
      this.#setLink({ state: 'connected' });
      for (const { key, request } of this.#entries.values()) this.#send(messageFor(key, request));
    };
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(String(data)) as LiveMessage);
    socket.onclose = (end) => {
      this.#drop();
      this.#setLink({ state: 'lost', since: new Date().toISOString() });
      this.#options.onLost(end);
      const { firstWait, longestWait, random } = this.#options;
      const wait = Math.min(longestWait, firstWait * 2 ** this.#attempts++) * (0.5 + random() / 2);
      this.#retry = setTimeout(() => this.#connect(), wait);
    };
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isOpen = false;
    if (socket === undefined) return;
    socket.onopen = socket.onclose = socket.onmessage = null;
    socket.close();
  }

  #receive(message: LiveMessage): void {
    if (message.type === 'connection')
      return this.#setLink(message.upstream === 'lost' ? { state: 'upstream-lost', since: message.since } : { state: 'connected' });
    const entry = this.#byWireKey.get(message.key);
    // Messages for something that was just given up may still be on their way.
    if (entry === undefined) return;
    if (message.type === 'list') entry.list.replace(message.items);
    if (message.type === 'changes') entry.list.apply(message.changes);
    entry.followed = followedAfter(entry, message);
    for (const listener of entry.listeners) listener();
  }

  #setLink(link: Link): void {
    if (link.state === this.#link.state) return;
    this.#link = link;
    for (const listener of this.#linkListeners) listener();
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message));
  }
}

function followedAfter({ request, list, followed }: Entry, message: Exclude<LiveMessage, { type: 'connection' }>): Followed<unknown> {
  switch (message.type) {
    case 'list':
    case 'changes':
      return { state: 'content', content: list.items() satisfies readonly KubeObject[] };
    case 'sample':
      return { state: 'content', content: message.value };
    case 'error':
      // A sample that fails once, or a watch that is retried, hides nothing that was seen before.
      return followed.state === 'content' && (isSample(request) || !isPointless(message.status.code))
        ? followed
        : { state: 'error', status: message.status };
  }
}

/** Nothing will come any more: the rights or the kind are gone. */
const isPointless = (code: number | undefined): boolean => code === 403 || code === 404;

import type { Status } from '@capstan/machinery';
import type { acceptWebSocket } from '@capstan/streams';
import { refusalOf } from '../guard/refusal.ts';
import type { Follow } from './follow.ts';
import type { Hub, Listener } from './hub.ts';
import { changesMessage, connectionMessage, errorMessage, listMessage, type PageMessage, parseMessage, sampleMessage } from './messages.ts';

export interface TabLimits {
  /** Keys of one tab. */
  readonly keys: number;
  /** In bytes: a tab for which more changes wait is cut off. */
  readonly waiting: number;
  /** In milliseconds: how long changes are collected, how often a tab must show that it lives, and how long it may take for one list. */
  readonly batch: number;
  readonly heartbeat: number;
  readonly listPatience: number;
}

/** The longest message of a page, in bytes. */
export const longestMessage = 64 << 10;
/** The page asks whether it is still signed in. */
export const signedOutCode = 4401;
const tooSlowCode = 4408;

type WebSocket = NonNullable<ReturnType<typeof acceptWebSocket>>;

interface Subscription extends Disposable {
  readonly key: string;
  /** Sends what waits; false if it must wait on. */
  flush(): boolean;
}

/** The stream of one tab. */
export class Tab implements Listener, Disposable {
  readonly #socket: WebSocket;
  readonly #hub: Hub;
  readonly #limits: TabLimits;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Subscriptions with something to send. */
  readonly #dirty = new Set<Subscription>();
  readonly #heartbeat: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  /** Bytes of changes and samples that the tab has not read. */
  #waiting = 0;
  /** When the list began that is being sent. There is one at a time, however large. */
  #listSince: number | undefined;

  constructor(socket: WebSocket, hub: Hub, limits: TabLimits) {
    this.#socket = socket;
    this.#hub = hub;
    this.#limits = limits;
    hub.listen(this);
    socket.on('message', (data: Buffer) => this.#receive(data.toString('utf8')));
    socket.on('pong', () => (this.#isAlive = true));
    // Its close follows.
    socket.on('error', () => {});
    this.#heartbeat = setInterval(() => this.#beat(), limits.heartbeat).unref();
  }

  upstream(state: 'lost' | 'restored'): void {
    this.#send(connectionMessage(state));
  }

  signedOut(): void {
    this.#socket.close(signedOutCode, 'signed out');
  }

  #receive(text: string): void {
    this.#isAlive = true;
    let message: PageMessage;
    try {
      message = parseMessage(text);
    } catch (error) {
      this.#send(errorMessage(undefined, badRequest((error as Error).message)));
      return;
    }
    this.#remove(message.key);
    try {
      if (message.type !== 'remove') this.#add(message);
    } catch (error) {
      const refusal = refusalOf(error);
      this.#send(errorMessage(message.key, badRequest((error as Error).message, refusal?.status)));
    }
    this.#hub.tidy();
  }

  #add(message: Exclude<PageMessage, { type: 'remove' }>): void {
    const { key } = message;
    if (this.#subscriptions.size >= this.#limits.keys) throw new TypeError(`each tab can have ${this.#limits.keys} keys; remove one first`);
    this.#subscriptions.set(
      key,
      message.type === 'follow' ? this.#follow(key, this.#hub.follow(message.selection)) : this.#sample(message),
    );
  }

  #follow(key: string, follow: Follow): Subscription {
    let needsList = false;
    let changes: string[] = [];
    const follower = {
      listed: () => {
        needsList = true;
        changes = [];
        this.#schedule(subscription);
      },
      changed: (change: string) => {
        // The list will contain it.
        if (needsList || follow.list === undefined) return;
        changes.push(change);
        this.#schedule(subscription);
      },
      failed: (status: Status) => this.#send(errorMessage(key, status)),
    };
    const subscription: Subscription = {
      key,
      flush: () => {
        if (needsList) {
          if (this.#listSince !== undefined) return false;
          needsList = false;
          this.#sendList(listMessage(key, follow.list!));
        } else if (changes.length > 0) {
          const batch = changes;
          changes = [];
          this.#send(changesMessage(key, batch));
        }
        return true;
      },
      [Symbol.dispose]: () => follow.remove(follower),
    };
    follow.add(follower);
    return subscription;
  }

  #sample({ key, sampling }: Extract<PageMessage, { type: 'sample' }>): Subscription {
    const sampler = this.#hub.sample(sampling);
    const reader = {
      seconds: sampling.seconds,
      sampled: (value: string) => this.#send(sampleMessage(key, value)),
      failed: (status: Status) => this.#send(errorMessage(key, status)),
    };
    sampler.add(reader);
    return { key, flush: () => true, [Symbol.dispose]: () => sampler.remove(reader) };
  }

  #remove(key: string): void {
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) return;
    this.#subscriptions.delete(key);
    this.#dirty.delete(subscription);
    subscription[Symbol.dispose]();
  }

  #schedule(subscription: Subscription): void {
    this.#dirty.add(subscription);
    this.#timer ??= setTimeout(() => this.#flush(), this.#limits.batch);
  }

  #flush(): void {
    this.#timer = undefined;
    for (const subscription of [...this.#dirty]) if (subscription.flush()) this.#dirty.delete(subscription);
  }

  #sendList(message: string): void {
    this.#listSince = performance.now();
    this.#socket.send(message, () => {
      this.#listSince = undefined;
      if (this.#dirty.size > 0) this.#timer ??= setTimeout(() => this.#flush(), 0);
    });
  }

  #send(message: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const size = Buffer.byteLength(message);
    this.#waiting += size;
    this.#socket.send(message, () => (this.#waiting -= size));
    if (this.#waiting > this.#limits.waiting) this.#cutOff();
  }

  /** It comes back by itself, and gets new lists. */
  #cutOff(): void {
    this.#socket.close(tooSlowCode, 'too slow');
    this.#socket.terminate();
  }

  #beat(): void {
    const isStuck = this.#listSince !== undefined && performance.now() - this.#listSince > this.#limits.listPatience;
    if (!this.#isAlive || isStuck) return this.#cutOff();
    this.#isAlive = false;
    this.#socket.ping();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
    this.#hub.leave(this);
    for (const subscription of this.#subscriptions.values()) subscription[Symbol.dispose]();
    this.#subscriptions.clear();
    this.#dirty.clear();
  }
}

function badRequest(message: string, code = 400): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason: code === 429 ? 'TooManyRequests' : 'BadRequest',
    message,
  };
}

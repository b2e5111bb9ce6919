import type { Status } from '@capstan/machinery';
import { refusalOf } from '../guard/refusal.ts';
import type { Hub, Listener } from './hub.ts';
import { connectionMessage, errorMessage, type PageMessage, parseMessage, type UpstreamState } from './messages.ts';
import { Outbox, type WebSocket } from './outbox.ts';
import { type Holder, ListSubscription, SampleSubscription, type Subscription } from './subscription.ts';

export interface TabLimits {
  /** Keys of one tab. */
  readonly keys: number;
  /** In characters: changes that wait for a tab. One that falls behind further gets new lists. */
  readonly waiting: number;
  /** In milliseconds: how long changes are collected, how often a tab must show that it lives, and how long it may accept nothing. */
  readonly batch: number;
  readonly heartbeat: number;
  readonly patience: number;
}

/** The longest message of a page, in bytes. */
export const longestMessage = 64 << 10;
/** The page asks whether it is still signed in. */
export const signedOutCode = 4401;
/** Messages without a key that wait: a page that makes so many does not read. */
const mostNotices = 1_000;

/** The stream of one tab. Nothing is sent faster than the tab reads, and what waits for it is bounded. */
export class Tab implements Listener, Holder, Disposable {
  readonly #socket: WebSocket;
  readonly #hub: Hub;
  readonly #limits: TabLimits;
  readonly #outbox: Outbox;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Subscriptions with something to send. */
  readonly #awake = new Set<Subscription>();
  readonly #heartbeat: NodeJS.Timeout;
  #notices: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  #waiting = 0;

  constructor(socket: WebSocket, hub: Hub, limits: TabLimits) {
    this.#socket = socket;
    this.#hub = hub;
    this.#limits = limits;
    this.#outbox = new Outbox(socket, () => this.#schedule(0));
    hub.listen(this);
    socket.on('message', (data: Buffer) => this.#receive(data.toString('utf8')));
    socket.on('pong', () => (this.#isAlive = true));
    // Its close follows.
    socket.on('error', () => {});
    this.#heartbeat = setInterval(() => this.#beat(), limits.heartbeat).unref();
  }

  upstream(state: UpstreamState): void {
    this.#notify(connectionMessage(state));
  }

  refused(): void {
    this.end('refused');
  }

  /** Ends the stream, after everything that waits. */
  end(why: 'signed-out' | 'expired' | 'refused'): void {
    this.#flush();
    this.#socket.close(signedOutCode, why);
  }

  wake(subscription: Subscription): void {
    this.#awake.add(subscription);
    this.#schedule(this.#limits.batch);
  }

  mayWait(characters: number): boolean {
    if (characters > 0 && this.#waiting + characters > this.#limits.waiting) return false;
    this.#waiting += characters;
    return true;
  }

  #receive(text: string): void {
    this.#isAlive = true;
    let message: PageMessage;
    try {
      message = parseMessage(text);
    } catch (error) {
      this.#notify(errorMessage(undefined, refused((error as Error).message)));
      return;
    }
    this.#remove(message.key);
    try {
      if (message.type !== 'remove') this.#add(message);
    } catch (error) {
      this.#notify(errorMessage(message.key, refused((error as Error).message, refusalOf(error)?.status)));
    }
    this.#hub.tidy();
  }

  #add(message: Exclude<PageMessage, { type: 'remove' }>): void {
    const { key } = message;
    if (this.#subscriptions.size >= this.#limits.keys) throw new TypeError(`each tab can have ${this.#limits.keys} keys; remove one first`);
    const made =
      message.type === 'follow'
        ? new ListSubscription(key, this.#hub.follow(message.selection), this)
        : new SampleSubscription({ key, seconds: message.sampling.seconds }, this.#hub.sample(message.sampling), this);
    this.#subscriptions.set(key, made);
  }

  #remove(key: string): void {
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) return;
    this.#subscriptions.delete(key);
    this.#awake.delete(subscription);
    subscription[Symbol.dispose]();
  }

  #notify(message: string): void {
    this.#notices.push(message);
    if (this.#notices.length > mostNotices) this.#socket.terminate();
    this.#schedule(0);
  }

  #schedule(after: number): void {
    this.#timer ??= setTimeout(() => this.#flush(), after);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#notices.length > 0 && !this.#outbox.isBusy) this.#outbox.send(this.#notices.shift()!);
    for (const subscription of this.#awake) {
      for (;;) {
        if (this.#outbox.isBusy) return;
        const message = subscription.take();
        if (message === undefined) break;
        this.#outbox.send(message);
      }
      this.#awake.delete(subscription);
    }
  }

  /** A tab that is cut off comes back by itself, and gets new lists. */
  #beat(): void {
    const { stuckFor } = this.#outbox;
    if (stuckFor !== undefined) {
      if (stuckFor > this.#limits.patience) this.#socket.terminate();
      return;
    }
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
    this.#hub.leave(this);
    for (const subscription of this.#subscriptions.values()) subscription[Symbol.dispose]();
    this.#subscriptions.clear();
    this.#awake.clear();
  }
}

function refused(message: string, code = 400): Status {
  const reason = code === 429 ? 'TooManyRequests' : 'BadRequest';
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message };
}

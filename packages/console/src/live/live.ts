import { acceptWebSocket, isHandshake, type UpgradeRequest } from '@capstan/streams';
import { Refusal } from '../guard/refusal.ts';
import type { Session, SessionEnd } from '../sessions/session.ts';
import { Hub, type HubLimits, type Targets } from './hub.ts';
import { longestMessage, Tab, type TabLimits } from './tab.ts';

/** Of the standard: the server restarts, and the tab comes back. */
const restartCode = 1012;

/** In milliseconds. A tab that is open for so long only asks whether its session goes on. */
const longestTimer = 2 ** 31 - 1;

export interface LiveLimits extends HubLimits, TabLimits {}

export const defaultLiveLimits: LiveLimits = {
  sources: 500,
  keys: 200,
  longestWait: 5_000,
  second: 1_000,
  pulse: 10_000,
  answerWithin: 5_000,
  waiting: 8 << 20,
  batch: 20,
  heartbeat: 30_000,
  patience: 60_000,
};

/** The streams of all tabs. */
export class Live {
  readonly #targets: Targets;
  readonly #limits: LiveLimits;
  readonly #hubs = new Map<Session, Hub>();
  #tabs = 0;

  constructor(targets: Targets, limits: LiveLimits) {
    this.#targets = targets;
    this.#limits = limits;
  }

  /** Open streams. */
  get tabs(): number {
    return this.#tabs;
  }

  /** Serves the stream of a tab. Resolves when it is over. */
  serve(session: Session, request: UpgradeRequest): Promise<void> {
    if (!isHandshake(request.request)) throw new Refusal('bad_request', 'Expected the handshake of a WebSocket.');
    const socket = acceptWebSocket(request, { protocol: '', longestMessage });
    if (socket === undefined) return Promise.resolve();
    this.#tabs++;
    const hub = this.#hubOf(session);
    const tab = new Tab(socket, hub, this.#limits);
    const signOut = (): void => {
      const why = session.ended.reason as SessionEnd;
      if (why === 'stopping') socket.close(restartCode, 'restarting');
      else tab.end(why);
    };
    session.ended.addEventListener('abort', signOut, { once: true });
    // Otherwise the next sweep would end it.
    const expiry = setTimeout(() => tab.end('expired'), Math.min(session.endsAt - Date.now(), longestTimer)).unref();
    return new Promise((resolve) => {
      socket.on('close', () => {
        this.#tabs--;
        session.ended.removeEventListener('abort', signOut);
        clearTimeout(expiry);
        tab[Symbol.dispose]();
        hub.tidy();
        if (hub.isUnused) {
          hub[Symbol.dispose]();
          this.#hubs.delete(session);
        }
        resolve();
      });
    });
  }

  #hubOf(session: Session): Hub {
    let hub = this.#hubs.get(session);
    if (hub === undefined) this.#hubs.set(session, (hub = new Hub(session, this.#targets, this.#limits)));
    return hub;
  }
}

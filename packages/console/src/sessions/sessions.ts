import { fieldsOf, textOf } from '@capstan/machinery';
import { isSecret, nameOf, newSecret } from './secret.ts';
import { type Credential, Session, type SessionEnd } from './session.ts';
import type { SealedSession, Vault } from './vault.ts';

export interface SessionLimits {
  readonly sessions: number;
  /** A user's longest unused session ends when they sign in once more. */
  readonly perUser: number;
  /** In milliseconds: without any request, and in all. */
  readonly idle: number;
  readonly age: number;
}

export const defaultSessionLimits: SessionLimits = { sessions: 1_000, perUser: 20, idle: 12 * 3_600_000, age: 24 * 3_600_000 };

export interface SessionsOptions {
  readonly vault: Vault;
  readonly limits?: Partial<SessionLimits>;
  /** Gets the next token for one that expires. */
  readonly renew?: (credential: Credential) => Promise<Credential>;
  readonly now?: () => number;
  readonly log?: (line: string) => void;
}

export class TooManySessions extends Error {
  override readonly name = 'TooManySessions';
}

/** In milliseconds. */
const sweepEvery = 60_000;

/** The sessions of all browsers. Those from before a restart stay encrypted until their cookie comes back. */
export class Sessions implements Disposable {
  readonly limits: SessionLimits;
  readonly #vault: Vault;
  readonly #renew: SessionsOptions['renew'];
  readonly #now: () => number;
  readonly #open = new Map<string, Session>();
  readonly #sealed = new Map<string, SealedSession>();
  readonly #timer: NodeJS.Timeout;
  readonly #log: (line: string) => void;
  #isFailing = false;

  constructor({ vault, limits, renew, now = Date.now, log = () => {} }: SessionsOptions) {
    this.limits = { ...defaultSessionLimits, ...limits };
    this.#vault = vault;
    this.#renew = renew;
    this.#log = log;
    this.#now = now;
    for (const one of vault.read()) this.#sealed.set(one.name, one);
    this.#timer = setInterval(() => this.sweep(), sweepEvery).unref();
  }

  get count(): number {
    return this.#sealed.size;
  }

  /** Begins a session. Returns the secret for the cookie. */
  begin(credential: Credential, { user, tokenEndsAt }: { readonly user: string; readonly tokenEndsAt: number | undefined }) {
    this.sweep();
    const owner = nameOf(user);
    const own = [...this.#sealed.values()].filter((one) => one.owner === owner).sort((a, b) => this.#usedAt(a) - this.#usedAt(b));
    for (const one of own.slice(0, Math.max(0, own.length + 1 - this.limits.perUser))) this.#remove(one.name, 'signed-out');
    if (this.#sealed.size >= this.limits.sessions)
      throw new TooManySessions(`This console can have ${this.limits.sessions} sessions. Sign out elsewhere, or try again later.`);
    const secret = newSecret();
    const name = nameOf(secret);
    const usedAt = this.#now();
    // A token that can be renewed does not limit its session.
    const tokenEnd = credential.refreshToken === undefined ? (tokenEndsAt ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
    const endsAt = Math.min(usedAt + this.limits.age, tokenEnd);
    const session = this.#opened({ name, owner, endsAt, usedAt }, credential, this.#vault.keyFor(secret));
    this.#keep(session, this.#vault.keyFor(secret));
    return { secret, session };
  }

  /** The session of a cookie, which counts as use. */
  find(secret: string | undefined): Session | undefined {
    if (secret === undefined || !isSecret(secret)) return undefined;
    const name = nameOf(secret);
    const session = this.#open.get(name) ?? this.#unseal(name, secret);
    if (session === undefined) return undefined;
    if (this.#isOver(session)) {
      this.#remove(name, 'expired');
      this.#save();
      return undefined;
    }
    session.usedAt = this.#now();
    return session;
  }

  #unseal(name: string, secret: string): Session | undefined {
    const sealed = this.#sealed.get(name);
    if (sealed === undefined) return undefined;
    const key = this.#vault.keyFor(secret);
    const text = this.#vault.open(key, sealed.sealed);
    if (text === undefined) return undefined;
    const { token, refreshToken } = fieldsOf(JSON.parse(text));
    return this.#opened(sealed, { token: textOf(token), ...(typeof refreshToken === 'string' && { refreshToken }) }, key);
  }

  #opened(facts: Omit<SealedSession, 'sealed'>, credential: Credential, key: Buffer): Session {
    const session = new Session(facts, credential, {
      now: this.#now,
      ...(this.#renew && { renew: this.#renew }),
      onRenewed: () => this.#keep(session, key),
      onRefused: () => this.end(session, 'refused'),
    });
    this.#open.set(facts.name, session);
    return session;
  }

  #keep(session: Session, key: Buffer): void {
    const { name, owner, endsAt, usedAt, credential } = session;
    this.#sealed.set(name, { name, owner, endsAt, usedAt, sealed: this.#vault.seal(key, JSON.stringify(credential)) });
    this.#save();
  }

  end(session: Session, why: SessionEnd = 'signed-out'): void {
    this.#remove(session.name, why);
    this.#save();
  }

  #remove(name: string, why: SessionEnd): void {
    this.#sealed.delete(name);
    const session = this.#open.get(name);
    this.#open.delete(name);
    session?.end(why);
  }

  #usedAt(one: SealedSession): number {
    return this.#open.get(one.name)?.usedAt ?? one.usedAt;
  }

  #isOver({ usedAt, endsAt, sockets }: Pick<Session, 'usedAt' | 'endsAt'> & { readonly sockets?: number }): boolean {
    const now = this.#now();
    return now >= endsAt || ((sockets ?? 0) === 0 && now >= usedAt + this.limits.idle);
  }

  /** Ends sessions whose time is over. */
  sweep(): void {
    let changed = false;
    for (const one of [...this.#sealed.values()]) {
      const session = this.#open.get(one.name);
      if (session !== undefined && session.sockets > 0) session.usedAt = this.#now();
      if (this.#isOver(session ?? one)) {
        this.#remove(one.name, 'expired');
        changed = true;
      } else if (session !== undefined && session.usedAt > one.usedAt) {
        this.#sealed.set(one.name, { ...one, usedAt: session.usedAt });
        changed = true;
      }
    }
    if (changed) this.#save();
  }

  /** A full disk must not keep anybody out: sessions that cannot be written only end with the process. */
  #save(): void {
    try {
      this.#vault.write([...this.#sealed.values()]);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#log(`sessions would not survive a restart: ${(error as Error).message}`);
      this.#isFailing = true;
    }
  }

  /** Ends what the sessions opened, but not the sessions. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.sweep();
    for (const session of this.#open.values()) session.end('stopping');
    this.#open.clear();
  }
}

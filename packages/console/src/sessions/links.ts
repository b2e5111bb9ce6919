import { isSecret, nameOf, newSecret } from './secret.ts';
import type { Credential } from './session.ts';

/** In milliseconds. */
const validFor = 600_000;
const mostLinks = 1_000;

interface Waiting {
  readonly credential: Credential;
  readonly until: number;
}

/** The one-time codes of links. They are in memory only: after a restart, somebody asks for another link. */
export class Links {
  readonly #now: () => number;
  readonly #waiting = new Map<string, Waiting>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Undefined if too many wait already. */
  create(credential: Credential): { readonly code: string; readonly until: number } | undefined {
    const now = this.#now();
    for (const [name, { until }] of this.#waiting) if (until <= now) this.#waiting.delete(name);
    if (this.#waiting.size >= mostLinks) return undefined;
    const code = newSecret();
    const until = now + validFor;
    this.#waiting.set(nameOf(code), { credential, until });
    return { code, until };
  }

  /** The credentials behind a code, once. */
  redeem(code: string): Credential | undefined {
    if (!isSecret(code)) return undefined;
    const name = nameOf(code);
    const found = this.#waiting.get(name);
    this.#waiting.delete(name);
    return found === undefined || found.until <= this.#now() ? undefined : found.credential;
  }
}

import { createHash } from 'node:crypto';
import { isSecret, nameOf, newSecret } from '../sessions/secret.ts';

/** Somebody who is on the way to the provider and back. */
export interface Flow {
  /** Comes back in the address. */
  readonly state: string;
  /** In a cookie of the browser, so that nobody can finish a flow in another person's browser. */
  readonly browser: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirect: string;
  /** The page to show then. */
  readonly page: string;
}

/** In milliseconds. */
const validFor = 600_000;
const mostFlows = 1_000;

/** The flows that have begun. They are in memory only: after a restart, somebody signs in again. */
export class Flows {
  readonly #now: () => number;
  readonly #open = new Map<string, Flow & { readonly until: number }>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The oldest flow makes room for a new one, because anybody can begin one. */
  begin(redirect: string, page: string): Flow & { readonly challenge: string } {
    const now = this.#now();
    for (const [name, { until }] of this.#open) if (until <= now || this.#open.size >= mostFlows) this.#open.delete(name);
    const flow = { state: newSecret(), browser: newSecret(), nonce: newSecret(), verifier: newSecret(), redirect, page };
    this.#open.set(nameOf(flow.state), { ...flow, until: now + validFor });
    return { ...flow, challenge: createHash('sha256').update(flow.verifier).digest('base64url') };
  }

  /** The flow of a browser that comes back, once. */
  finish(state: string, browser: string | undefined): Flow | undefined {
    if (!isSecret(state)) return undefined;
    const found = this.#open.get(nameOf(state));
    if (found === undefined || browser === undefined || nameOf(found.browser) !== nameOf(browser)) return undefined;
    this.#open.delete(nameOf(state));
    return found.until <= this.#now() ? undefined : found;
  }
}

/** Only pages of the console itself: nobody can use the sign-in to lead people elsewhere. */
export function pageOf(text: string | null): string {
  return text !== null && /^\/(?![/\\])[\w\-./:~%?=&+,@]*$/.test(text) && text.length <= 2_000 ? text : '/';
}

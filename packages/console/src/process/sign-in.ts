import type { IncomingMessage } from 'node:http';
import { ApiError, ConnectionError } from '@capstan/client';
import { isObject } from '@capstan/machinery';
import { expiryOf, readBody, type Upstream } from '@capstan/serving';
import { Refusal } from '../guard/refusal.ts';
import { type Identity, identify, userOf } from '../identity/identity.ts';
import type { Links } from '../sessions/links.ts';
import type { Credential, Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** The answer of `GET /session`. */
export interface SessionView extends Identity {
  readonly expiresAt: string;
}

const largestBody = 64 << 10;
const longestToken = 32 << 10;

export interface SignInOptions {
  readonly sessions: Sessions;
  readonly links: Links;
  /** The API server. */
  readonly upstream: Upstream;
  /** How people can sign in. */
  readonly ways: readonly string[];
}

/** Begins sessions. Every token is shown to the API server first, which alone knows whose it is. */
export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** `POST /session` with a token or a code. */
  async fromBody(incoming: IncomingMessage): Promise<Credential> {
    const { token, code } = parsed(await readBody(incoming, largestBody));
    if (typeof token === 'string') return { token: checkToken(token.trim()) };
    if (typeof code !== 'string') throw new Refusal('bad_request', 'Expected {"token": …} or {"code": …}.');
    const credential = this.#options.links.redeem(code);
    if (credential === undefined)
      throw this.signedOut('The link was used already, or is older than ten minutes. Get another one with "capstan console".');
    return credential;
  }

  async begin(credential: Credential): Promise<{ readonly secret: string; readonly session: Session; readonly view: SessionView }> {
    const authorization = `Bearer ${credential.token}`;
    const identity = await this.#asking(() => identify(this.#options.upstream, authorization));
    const { secret, session } = this.#options.sessions.begin(credential, {
      user: identity.user.name,
      tokenEndsAt: expiryOf(authorization),
    });
    return { secret, session, view: viewOf(identity, session) };
  }

  async look(session: Session): Promise<SessionView> {
    const authorization = await session.authorization();
    return viewOf(await this.#asking(() => identify(this.#options.upstream, authorization)), session);
  }

  /** `POST /session/links`: a code for the owner of the token in the request. */
  async link({ headers: { authorization = '' } }: IncomingMessage): Promise<{ readonly code: string; readonly expiresAt: string }> {
    const found = /^bearer ([\x21-\x7e]+)$/i.exec(authorization);
    if (found === null) throw new Refusal('signed_out', 'Expected the header "Authorization: Bearer <token>".');
    const token = checkToken(found[1]!);
    await this.#asking(() => userOf(this.#options.upstream, `Bearer ${token}`));
    const made = this.#options.links.create({ token });
    if (made === undefined) throw new Refusal('too_many', 'Too many links wait to be used. Try again in ten minutes.');
    return { code: made.code, expiresAt: new Date(made.until).toISOString() };
  }

  signedOut(message: string): Refusal {
    return new Refusal('signed_out', message, { ways: this.#options.ways });
  }

  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ApiError && error.code === 401) throw this.signedOut('The API server does not accept the token.');
      if (error instanceof ApiError) throw new Refusal('unavailable', `The API server answered: ${error.message}`);
      if (error instanceof ConnectionError) throw new Refusal('unavailable', 'The API server cannot be reached at the moment. Try again.');
      throw error;
    }
  }
}

function viewOf({ user, home, isPlatformOwner }: Identity, { endsAt }: Session): SessionView {
  return { user, home, expiresAt: new Date(endsAt).toISOString(), isPlatformOwner };
}

function checkToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > longestToken)
    throw new Refusal('bad_request', `Expected a token of at most ${longestToken} visible characters.`);
  return token;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Not JSON, like everything else that is no object.
  }
  throw new Refusal('bad_request', 'Expected a JSON object.');
}

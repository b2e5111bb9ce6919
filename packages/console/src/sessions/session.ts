import { expiryOf } from '@capstan/serving';

/** Credentials with which somebody signed in. */
export interface Credential {
  /** For the API server, without `Bearer`. */
  readonly token: string;
  /** Of an OpenID provider, to get the next token. */
  readonly refreshToken?: string;
}

export interface SessionFacts {
  /** Not the secret. */
  readonly name: string;
  /** A hash of the user's name. */
  readonly owner: string;
  readonly endsAt: number;
  readonly usedAt: number;
}

export interface RenewalOptions {
  readonly now: () => number;
  readonly renew?: (credential: Credential) => Promise<Credential>;
  readonly onRenewed: () => void;
  /** There will be no other token. */
  readonly onRefused: () => void;
}

/** Why a session ends here. `refused`: its token cannot be renewed. `stopping`: only this process ends, and the session goes on with the next one. */
export type SessionEnd = 'signed-out' | 'expired' | 'refused' | 'stopping';

/** In milliseconds: how long before its end a token is renewed. */
const margin = 60_000;

/** Somebody who signed in with a browser. */
export class Session implements SessionFacts {
  readonly name: string;
  readonly owner: string;
  readonly endsAt: number;
  usedAt: number;
  /** Open WebSockets, each of which counts as use. */
  sockets = 0;
  /** Requests that are being relayed. */
  requests = 0;
  #credential: Credential;
  readonly #options: RenewalOptions;
  readonly #ended = new AbortController();
  #renewing: Promise<void> | undefined;

  constructor({ name, owner, endsAt, usedAt }: SessionFacts, credential: Credential, options: RenewalOptions) {
    this.name = name;
    this.owner = owner;
    this.endsAt = endsAt;
    this.usedAt = usedAt;
    this.#credential = credential;
    this.#options = options;
  }

  get credential(): Credential {
    return this.#credential;
  }

  /** Aborted when the session ends: everything that it opened ends with it. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The value of the header `Authorization`, with a token that has not expired if there is one. */
  async authorization(): Promise<string> {
    const { now, renew } = this.#options;
    const current = (): string => `Bearer ${this.#credential.token}`;
    if (renew !== undefined && this.#credential.refreshToken !== undefined && now() >= (expiryOf(current()) ?? Infinity) - margin) {
      this.#renewing ??= this.#renewed(renew).finally(() => (this.#renewing = undefined));
      await this.#renewing;
    }
    return current();
  }

  /** A provider that is out of reach is asked again: the API server says whether the token still works. */
  async #renewed(renew: NonNullable<RenewalOptions['renew']>): Promise<void> {
    try {
      this.#credential = await renew(this.#credential);
    } catch (error) {
      if ((error as { readonly isRefusal?: boolean }).isRefusal === true) this.#options.onRefused();
      return;
    }
    if (!this.#ended.signal.aborted) this.#options.onRenewed();
  }

  end(why: SessionEnd): void {
    this.#ended.abort(why);
  }
}

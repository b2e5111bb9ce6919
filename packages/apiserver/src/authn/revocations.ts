import { type Authenticator, type Credentials, type Fault, Unauthenticated } from './user.ts';

/** A request that stays open, such as a watch. */
export interface OpenRequest {
  /** Ends it at once. */
  abandon(): void;
  onClose(listener: () => void): void;
}

export interface RevocationsOptions {
  readonly authenticator: Authenticator;
  /** How often some of the tokens are checked, in milliseconds. */
  readonly interval?: number;
}

/** All tokens are checked within so many intervals, and always at least so many at once. */
const round = 5;
const leastAtOnce = 64;

/** Faults of a token that was accepted and never will be again. Expired tokens are none: as in Kubernetes, watches outlive them. */
const final: ReadonlySet<Fault> = new Set<Fault>(['revoked', 'unknown-token']);

/**
 * Ends watches and streams whose bearer token was revoked since they began: its service account was deleted, or the Secret, Pod or Node that it is bound to. kube-apiserver lets them
 * go on for up to an hour. Each token is authenticated once in a round, from a cache and however many requests have it, so that events cost nothing. Connections of node
 * agents, which have certificates, end elsewhere.
 */
export class Revocations implements Disposable {
  readonly #authenticator: Authenticator;
  readonly #open = new Map<string, Map<OpenRequest, Credentials>>();
  readonly #timer: NodeJS.Timeout;
  #tokens = this.#open.keys();

  constructor({ authenticator, interval = 1_000 }: RevocationsOptions) {
    this.#authenticator = authenticator;
    this.#timer = setInterval(() => this.check(), interval).unref();
  }

  /** The number of tokens with open requests. */
  get count(): number {
    return this.#open.size;
  }

  add(request: OpenRequest, credentials: Credentials): void {
    const { authorization } = credentials;
    if (authorization === undefined) return;
    let requests = this.#open.get(authorization);
    if (requests === undefined) this.#open.set(authorization, (requests = new Map()));
    requests.set(request, credentials);
    request.onClose(() => {
      requests.delete(request);
      if (requests.size === 0 && this.#open.get(authorization) === requests) this.#open.delete(authorization);
    });
  }

  /** Checks the next tokens. */
  check(): void {
    for (let left = Math.max(leastAtOnce, Math.ceil(this.#open.size / round)); left > 0; left--) {
      const { value: authorization, done } = this.#tokens.next();
      if (done === true) {
        this.#tokens = this.#open.keys();
        return;
      }
      this.#isRevoked({ authorization }, () => this.#end(authorization));
    }
  }

  /** Requests that have a certificate too may be accepted because of it. */
  #end(authorization: string): void {
    for (const [request, credentials] of this.#open.get(authorization) ?? []) this.#isRevoked(credentials, () => request.abandon());
  }

  /** Calls back if the credentials are revoked. Answers that have to be awaited come from an issuer elsewhere, which revokes nothing here. */
  #isRevoked(credentials: Credentials, onRevoked: () => void): void {
    try {
      const answer = this.#authenticator.authenticate(credentials);
      if (answer instanceof Promise) answer.catch(() => {});
    } catch (error) {
      if (error instanceof Unauthenticated && final.has(error.fault)) onRevoked();
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

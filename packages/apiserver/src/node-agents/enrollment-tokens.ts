import { hash, timingSafeEqual } from 'node:crypto';
import {
  type ClusterId,
  fleetGroup,
  type NodeEnrollment,
  nodeEnrollmentGroup,
  nodeEnrollmentKind,
  nodeEnrollmentUser,
  parseEnrollmentToken,
} from '@capstan/api';
import { sharedAudiences, type TokenAuthenticator, withAuthenticatedGroup } from '../authn/bearer.ts';
import { Unauthenticated } from '../authn/user.ts';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';

export interface EnrollmentTokensOptions {
  readonly cache: WatchCache;
  readonly platform: () => ClusterId | undefined;
  readonly now: () => Date;
  readonly audiences: readonly string[];
}

/** The tokens of NodeEnrollments. */
export class EnrollmentTokens implements TokenAuthenticator {
  readonly #options: EnrollmentTokensOptions;
  readonly #enrollments: ResourceCache;

  constructor(options: EnrollmentTokensOptions) {
    this.#options = options;
    this.#enrollments = options.cache.resource({ group: fleetGroup, resource: `${nodeEnrollmentKind.resource}*` });
  }

  readonly authenticateToken: TokenAuthenticator['authenticateToken'] = (token, wanted) => {
    const enrollment = this.find(token);
    if (enrollment === undefined) return undefined;
    const shared = sharedAudiences(this.#options.audiences, wanted);
    if (shared.length === 0 && wanted.length > 0) return undefined;
    const user = { name: nodeEnrollmentUser(enrollment.spec.node), groups: withAuthenticatedGroup([nodeEnrollmentGroup]) };
    return { user, audiences: shared };
  };

  all(): NodeEnrollment[] {
    const cluster = this.#options.platform();
    const found: NodeEnrollment[] = [];
    if (cluster === undefined) return found;
    this.#enrollments.entries.walk(`${cluster}//`, `${cluster}//\uffff`, (entry) => {
      found.push(entry.parse() as NodeEnrollment);
      return true;
    });
    return found;
  }

  /** The enrolment of a token; undefined if the token is of another kind. Throws if it is of this kind and wrong. */
  find(token: string): NodeEnrollment | undefined {
    const { platform, now } = this.#options;
    const parts = parseEnrollmentToken(token);
    const cluster = platform();
    if (parts === undefined || cluster === undefined) return undefined;
    const entry = this.#enrollments.entries.get(`${cluster}//${parts.enrollment}`);
    if (entry === undefined) return undefined;
    const enrollment = entry.parse() as NodeEnrollment;
    const { secretHash, expiresAt } = enrollment.spec;
    if (!timingSafeEqual(hash('sha256', parts.secret, 'buffer'), Buffer.from(secretHash, 'hex')))
      throw new Unauthenticated(`the secret is not that of the NodeEnrollment ${parts.enrollment}`, { fault: 'unknown-token' });
    if (Date.parse(expiresAt) <= now().getTime())
      throw new Unauthenticated(`the NodeEnrollment ${parts.enrollment} expired at ${expiresAt}`, { fault: 'expired' });
    return enrollment;
  }
}

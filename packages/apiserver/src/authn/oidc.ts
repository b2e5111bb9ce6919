import { hash } from 'node:crypto';
import type { User } from '@capstan/api';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import type { Outbound } from '../http/outbound.ts';
import { sharedAudiences, type TokenAuthenticator, type TokenUser, withAuthenticatedGroup } from './bearer.ts';
import { ClaimBudget, type ClaimExpression, textsFrom } from './claim-expression.ts';
import { fetchJson, httpsFetch } from './https-fetch.ts';
import { type Claims, decode } from './jwt.ts';
import { RecentlyUsed } from './recently-used.ts';
import { type Fault, Unauthenticated } from './user.ts';

export interface OidcOptions {
  readonly issuerUrl: string;
  /** Tokens must be issued for one of these clients. */
  readonly clientIds: readonly string[];
  /** The URL of the issuer's discovery document, if it is not below the issuer's URL. */
  readonly discoveryUrl?: string;
  /** Defaults to `sub`. */
  readonly usernameClaim?: string;
  /** `-` for none. Defaults to the issuer and `#`, unless the claim is `email`. */
  readonly usernamePrefix?: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly uidClaim?: string;
  /** Computes the name (or the groups, or the uid) from all claims, in place of a single claim. */
  readonly usernameExpression?: ClaimExpression;
  readonly groupsExpression?: ClaimExpression;
  readonly uidExpression?: ClaimExpression;
  /** The extra of the user. */
  readonly extra?: readonly { readonly key: string; readonly value: ClaimExpression }[];
  /** A token is rejected with the message of the first expression that is not true. */
  readonly validations?: readonly { readonly expression: ClaimExpression; readonly message: string }[];
  readonly requiredClaims?: Readonly<Record<string, string>>;
  /** Called before expressions are evaluated. Throws Unauthenticated if they must not be. */
  readonly beforeExpressions?: () => void;
  /** PEM of the authorities that sign the issuer's TLS certificate; defaults to those of the system. */
  readonly authorities?: string;
  /** Blocks connections to some addresses. */
  readonly outbound?: Outbound | undefined;
  /** Defaults to RS256. */
  readonly signingAlgorithms?: readonly string[];
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  readonly now?: () => number;
}

const capacity = 10_000;
/** A token is verified again after this time, so that a key withdrawn by the issuer stops being accepted. */
const trustedFor = 5 * 60_000;
/** How long to wait before contacting an unreachable issuer again. */
const retryAfter = 10_000;

interface Verifier {
  readonly verify: (token: string) => Promise<JWTPayload>;
}

/**
 * Accepts the ID tokens of an OpenID Connect provider. Its keys are fetched for the first token, and again when a token is signed with a
 * new key.
 */
export function oidc(options: OidcOptions): TokenAuthenticator {
  const { issuerUrl, audiences, now = Date.now } = options;
  if (!issuerUrl.startsWith('https://')) throw new TypeError(`the URL of the OIDC issuer must begin with https://, not ${issuerUrl}`);
  if (options.clientIds.length === 0) throw new TypeError('an OIDC issuer needs at least one client id that its tokens are meant for');
  const known = new RecentlyUsed<string, { user: User; until: number }>(capacity);
  let verifier: Promise<Verifier> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure = '';

  function reach(): Promise<Verifier> {
    if (verifier === undefined && now() - failedAt < retryAfter)
      return Promise.reject(new Unauthenticated(failure, { fault: 'issuer-out-of-reach' }));
    verifier ??= connect(options).catch((error: Error) => {
      verifier = undefined;
      failedAt = now();
      failure = `oidc: cannot fetch the keys of the issuer ${issuerUrl}: ${error.message}`;
      throw new Unauthenticated(failure, { cause: error, fault: 'issuer-out-of-reach' });
    });
    return verifier;
  }

  async function verifyNew(token: string, key: string): Promise<User> {
    const { verify } = await reach();
    const claims = await verify(token).catch((error: Error) => {
      throw new Unauthenticated(`oidc: verify token: ${error.message}`, { cause: error, fault: faultOf(error) });
    });
    const user = userOf(claims, options);
    known.set(key, { user, until: Math.min(now() + trustedFor, (claims.exp ?? 0) * 1000) });
    return user;
  }

  return {
    authenticateToken(token, wanted) {
      const shared = sharedAudiences(audiences, wanted);
      if (shared.length === 0) return undefined;
      const key = hash('sha256', token, 'base64');
      const entry = known.get(key);
      if (entry !== undefined && now() < entry.until) return { user: entry.user, audiences: shared };
      if (decode(token)?.claims['iss'] !== issuerUrl) return undefined;
      return verifyNew(token, key).then((user): TokenUser => ({ user, audiences: shared }));
    },
  };
}

/** Maps the error codes of jose. */
function faultOf(error: Error & { readonly code?: string }): Fault {
  if (error.code === 'ERR_JWT_EXPIRED') return 'expired';
  return error.code === 'ERR_JWKS_NO_MATCHING_KEY' || error.code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' ? 'unknown-key' : 'other';
}

async function connect(options: OidcOptions): Promise<Verifier> {
  const { issuerUrl, clientIds, signingAlgorithms = ['RS256'], now = Date.now } = options;
  // Only servers with an issuer pay for loading jose.
  const { createRemoteJWKSet, customFetch, jwtVerify } = await import('jose');
  const discoveryUrl = options.discoveryUrl ?? `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await fetchJson(discoveryUrl, options);
  if (document['issuer'] !== issuerUrl) {
    throw new TypeError(
      `its discovery document names the issuer ${JSON.stringify(document['issuer'])}, expected ${JSON.stringify(issuerUrl)}`,
    );
  }
  if (typeof document['jwks_uri'] !== 'string') throw new TypeError('its discovery document has no jwks_uri');
  const keys: JWTVerifyGetKey = createRemoteJWKSet(new URL(document['jwks_uri']), { [customFetch]: httpsFetch(options) });
  const checks = { issuer: issuerUrl, audience: [...clientIds], algorithms: [...signingAlgorithms], requiredClaims: ['exp'] };
  return {
    verify: async (token) => (await jwtVerify(token, keys, { ...checks, currentDate: new Date(now()) })).payload,
  };
}

function userOf(claims: Claims, options: OidcOptions): User {
  options.beforeExpressions?.();
  const budget = new ClaimBudget();
  const { issuerUrl, usernameClaim = 'sub', groupsClaim, groupsPrefix = '', uidClaim, requiredClaims = {} } = options;
  for (const [claim, value] of Object.entries(requiredClaims)) {
    if (claims[claim] !== value)
      throw new Unauthenticated(`oidc: required claim ${claim} value does not match; expected ${JSON.stringify(value)}`);
  }
  for (const { expression, message } of options.validations ?? []) {
    if (expression(claims, budget) !== true) throw new Unauthenticated(`oidc: ${message}`);
  }
  const { usernameExpression, groupsExpression, uidExpression } = options;
  const name = usernameExpression === undefined ? claims[usernameClaim] : usernameExpression(claims, budget);
  if (typeof name !== 'string' || name === '')
    throw new Unauthenticated(`oidc: parse username claims "${usernameClaim}": claim not present`);
  if (
    usernameExpression === undefined &&
    usernameClaim === 'email' &&
    claims['email_verified'] !== undefined &&
    claims['email_verified'] !== true
  ) {
    throw new Unauthenticated('oidc: email not verified');
  }
  const uid = uidExpression !== undefined ? uidExpression(claims, budget) : uidClaim === undefined ? undefined : claims[uidClaim];
  const groups =
    groupsExpression !== undefined
      ? textsFrom(groupsExpression(claims, budget), 'the groups expression')
      : groupsClaim === undefined
        ? []
        : groupsOf(claims[groupsClaim], groupsClaim).map((group) => `${groupsPrefix}${group}`);
  const prefix = usernameExpression !== undefined ? '-' : (options.usernamePrefix ?? (usernameClaim === 'email' ? '' : `${issuerUrl}#`));
  const credential = typeof claims['jti'] === 'string' && claims['jti'] !== '' ? claims['jti'] : undefined;
  return {
    name: `${prefix === '-' ? '' : prefix}${name}`,
    ...(typeof uid === 'string' && { uid }),
    groups: withAuthenticatedGroup(groups),
    ...extraOf(claims, { mapped: options.extra ?? [], credential, budget }),
  };
}

interface ExtraSource {
  readonly mapped: NonNullable<OidcOptions['extra']>;
  readonly credential: string | undefined;
  readonly budget: ClaimBudget;
}

function extraOf(claims: Claims, { mapped, credential, budget }: ExtraSource): Pick<User, 'extra'> {
  const found = mapped
    .map(({ key, value }) => [key, textsFrom(value(claims, budget), `the extra ${key}`)] as const)
    .filter(([, values]) => values.length > 0);
  if (credential !== undefined) found.push(['authentication.kubernetes.io/credential-id', [`JTI=${credential}`]]);
  return found.length === 0 ? {} : { extra: Object.fromEntries(found) };
}

function groupsOf(claim: unknown, name: string): readonly string[] {
  if (claim === undefined || claim === null) return [];
  if (typeof claim === 'string') return [claim];
  if (Array.isArray(claim) && claim.every((group) => typeof group === 'string')) return claim as string[];
  throw new Unauthenticated(`oidc: parse groups claim "${name}": expected a string or a list of strings`);
}

import type { User } from '@capstan/api';
import { formatTime, type KubeObject, status } from '@capstan/machinery';
import type { BearerTokens, TokenUser } from '../authn/bearer.ts';
import { Unauthenticated } from '../authn/user.ts';

const apiVersion = 'authentication.k8s.io/v1';

/** Reports the user of the request. */
export function selfSubjectReview(user: User, now: Date): KubeObject {
  return {
    kind: 'SelfSubjectReview',
    apiVersion,
    metadata: { creationTimestamp: formatTime(now) },
    status: { userInfo: userInfo(user) },
  };
}

/** Reports the user of a token. */
export function tokenReview(body: KubeObject, tokens: BearerTokens): KubeObject | Promise<KubeObject> {
  const { token = '', audiences } = (body['spec'] ?? {}) as { token?: string; audiences?: readonly string[] | null };
  if (token === '') throw status.badRequest('token is required for TokenReview in authentication');
  const wanted = audiences && audiences.length > 0 ? audiences : tokens.audiences;
  const answer = (result: object): KubeObject => ({
    kind: 'TokenReview',
    apiVersion,
    metadata: body.metadata,
    spec: body['spec'],
    status: result,
  });
  const known = (found: TokenUser): KubeObject => answer({ authenticated: true, user: userInfo(found.user), audiences: found.audiences });
  const unknown = (error: unknown): KubeObject => {
    if (!(error instanceof Unauthenticated)) throw error;
    return answer({ user: {}, error: status.aggregate(['invalid bearer token', error.message]) });
  };
  try {
    const found = tokens.authenticateToken(token, wanted) as TokenUser | Promise<TokenUser>;
    return found instanceof Promise ? found.then(known, unknown) : known(found);
  } catch (error) {
    return unknown(error);
  }
}

function userInfo({ name, uid, groups, extra }: User): object {
  const hasExtra = extra !== undefined && Object.keys(extra).length > 0;
  return { username: name, ...(uid && { uid }), ...(groups.length > 0 && { groups }), ...(hasExtra && { extra }) };
}

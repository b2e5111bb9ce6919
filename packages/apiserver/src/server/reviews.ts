import type { BearerTokens } from '../authn/bearer.ts';
import type { Authorizer } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/index.ts';
import type { VirtualKind } from '../handlers/virtual.ts';
import type { RequestContext } from '../registry/context.ts';
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
  tokenReview,
} from '../reviews/index.ts';

/** The kinds that are questions: who am I, may I, whose token is this. */
export function reviewKinds(
  { authorizer, rbac }: { authorizer: Authorizer & RuleResolver; rbac: Authorizer & RuleResolver },
  tokensIn: (cluster: string) => BearerTokens,
): Map<string, VirtualKind> {
  const asker = (context: RequestContext): { cluster: string; user: RequestContext['user']; authorizer: Authorizer & RuleResolver } => ({
    cluster: context.cluster,
    user: context.user,
    authorizer: context.deepReview ? rbac : authorizer,
  });
  return new Map<string, VirtualKind>([
    ['authorization.k8s.io/subjectaccessreviews', (object, context) => subjectAccessReview(object, asker(context))],
    [
      'authorization.k8s.io/localsubjectaccessreviews',
      (object, context) => localSubjectAccessReview(object, context.info.namespace, asker(context)),
    ],
    ['authorization.k8s.io/selfsubjectaccessreviews', (object, context) => selfSubjectAccessReview(object, asker(context))],
    ['authorization.k8s.io/selfsubjectrulesreviews', (object, context) => selfSubjectRulesReview(object, asker(context))],
    ['authentication.k8s.io/selfsubjectreviews', (_object, context) => selfSubjectReview(context.user, context.now())],
    ['authentication.k8s.io/tokenreviews', (object, { cluster }) => tokenReview(object, tokensIn(cluster))],
  ]);
}

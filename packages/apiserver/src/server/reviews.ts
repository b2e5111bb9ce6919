import type { ClusterId } from '@capstan/api';
import type { BearerTokens } from '../authn/bearer.ts';
import type { Authorizer, Gate } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/authorizer.ts';
import { settled } from '../authz/settled.ts';
import type { VirtualKind } from '../handlers/virtual.ts';
import type { RequestContext } from '../registry/context.ts';
import { localSubjectAccessReview, selfSubjectAccessReview, selfSubjectRulesReview, subjectAccessReview } from '../reviews/access.ts';
import { selfSubjectReview, tokenReview } from '../reviews/authentication.ts';

interface Asker {
  readonly cluster: ClusterId;
  readonly user: RequestContext['user'];
  readonly authorizer: Authorizer & RuleResolver;
}

/** The kinds that are questions: who am I, may I, whose token is this. */
export function reviewKinds(
  { authorizer, rbac }: { authorizer: Gate & RuleResolver; rbac: Gate & RuleResolver },
  tokensIn: (cluster: ClusterId) => BearerTokens,
): Map<string, VirtualKind> {
  const review =
    (
      answer: (object: Parameters<VirtualKind>[0], asker: Asker, namespace: string) => ReturnType<typeof subjectAccessReview>,
    ): VirtualKind =>
    (object, { cluster, user, deepReview, info }) => {
      const gate = deepReview ? rbac : authorizer;
      return settled(gate, (decided) => {
        const rules: RuleResolver['rulesFor'] = (...asked) => gate.rulesFor(...asked);
        return answer(
          object,
          { cluster, user, authorizer: { authorize: (asked) => decided.authorize(asked), rulesFor: rules } },
          info.namespace,
        );
      });
    };
  return new Map<string, VirtualKind>([
    ['authorization.k8s.io/subjectaccessreviews', review(subjectAccessReview)],
    [
      'authorization.k8s.io/localsubjectaccessreviews',
      review((object, asker, namespace) => localSubjectAccessReview(object, namespace, asker)),
    ],
    ['authorization.k8s.io/selfsubjectaccessreviews', review(selfSubjectAccessReview)],
    ['authorization.k8s.io/selfsubjectrulesreviews', review(selfSubjectRulesReview)],
    ['authentication.k8s.io/selfsubjectreviews', (_object, context) => selfSubjectReview(context.user, context.now())],
    ['authentication.k8s.io/tokenreviews', (object, { cluster }) => tokenReview(object, tokensIn(cluster))],
  ]);
}

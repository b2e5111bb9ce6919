import type { ClusterId, User } from '@capstan/api';
import { type KubeObject, status } from '@capstan/machinery';
import { atHomeIn } from '../authn/service-account.ts';
import type { Attributes, Authorizer } from '../authz/attributes.ts';
import type { RuleResolver } from '../authz/authorizer.ts';
import { printMissing } from '../authz/resolver.ts';
import type { PolicyRule } from '../authz/rule.ts';
import {
  type AccessSpec,
  attributesOf,
  evaluationError,
  throwInvalid,
  validateLocal,
  validateMetadata,
  validateSpec,
} from './access-spec.ts';

export interface AccessReviewContext {
  readonly cluster: ClusterId;
  /** The user of the request. */
  readonly user: User;
  readonly authorizer: Authorizer & RuleResolver;
}

const apiVersion = 'authorization.k8s.io/v1';

const specOf = (body: KubeObject): AccessSpec => (body['spec'] ?? {}) as AccessSpec;

/** Whether a subject may do something. */
export function subjectAccessReview(body: KubeObject, context: AccessReviewContext): KubeObject {
  const spec = specOf(body);
  throwInvalid([...validateSpec(spec, 'subject'), ...validateMetadata(body, 'none')]);
  return answer('SubjectAccessReview', body, { attributes: attributesOfSubject(spec, context), context });
}

/** The same, for users who may only ask about one namespace. */
export function localSubjectAccessReview(body: KubeObject, namespace: string, context: AccessReviewContext): KubeObject {
  const spec = specOf(body);
  const placed = { ...body, metadata: { ...body.metadata, namespace: body.metadata.namespace ?? namespace } };
  if (placed.metadata.namespace !== namespace) {
    throw status.badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  throwInvalid([...validateSpec(spec, 'subject'), ...validateMetadata(placed, 'namespace'), ...validateLocal(spec, namespace)]);
  return answer('LocalSubjectAccessReview', placed, { attributes: attributesOfSubject(spec, context), context });
}

/** Whether the user of the request may do something. */
export function selfSubjectAccessReview(body: KubeObject, context: AccessReviewContext): KubeObject {
  const spec = specOf(body);
  throwInvalid([...validateSpec(spec, 'self'), ...validateMetadata(body, 'none')]);
  return answer('SelfSubjectAccessReview', body, { attributes: attributesOf(spec, context.user, context.cluster), context });
}

/** Lists the rules for the user of the request in a namespace. */
export function selfSubjectRulesReview(body: KubeObject, { cluster, user, authorizer }: AccessReviewContext): KubeObject {
  const { namespace = '' } = (body['spec'] ?? {}) as { namespace?: string };
  if (namespace === '') throw status.badRequest('no namespace on request');
  const { rules, missing, cut } = authorizer.rulesFor(user, { cluster, namespace });
  const problems = [...missing.map((role) => printMissing(role)), ...(cut === undefined ? [] : [cut])];
  return {
    kind: 'SelfSubjectRulesReview',
    apiVersion,
    metadata: {},
    spec: {},
    status: {
      resourceRules: rules.filter(({ resources = [] }) => resources.length > 0).map(resourceRule),
      nonResourceRules: rules
        .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
      incomplete: cut !== undefined,
      ...(problems.length > 0 && { evaluationError: status.aggregate(problems) }),
    },
  };
}

function resourceRule({ verbs, apiGroups, resources, resourceNames = [] }: PolicyRule): object {
  return { verbs, apiGroups, resources, ...(resourceNames.length > 0 && { resourceNames }) };
}

function attributesOfSubject(spec: AccessSpec, { cluster }: AccessReviewContext): Attributes {
  const { user: name = '', groups, uid, extra } = spec;
  const user: User = { name, groups: groups ?? [], ...(uid && { uid }), ...(extra && { extra }) };
  return attributesOf(spec, atHomeIn(user, cluster), cluster);
}

function answer(
  kind: string,
  body: KubeObject,
  { attributes, context }: { attributes: Attributes; context: AccessReviewContext },
): KubeObject {
  const decision = context.authorizer.authorize(attributes);
  const { allowed, reason } = decision;
  const denied = !allowed && decision.denied === true;
  const problem = evaluationError(specOf(body)) || (allowed ? undefined : decision.error);
  return {
    kind,
    apiVersion,
    metadata: body.metadata,
    spec: body['spec'],
    status: { allowed, ...(denied && { denied }), ...(reason && { reason }), ...(problem && { evaluationError: problem }) },
  };
}

import type { User } from '@capstan/api';
import { type AuthorizationQuestion, AuthorizerValue, type Binding, ResourceCheck } from '@capstan/cel';
import type { Json, JsonObject, KubeObject } from '@capstan/machinery';
import type { Authorizer } from '../../authz/attributes.ts';
import type { AdmissionRequest } from '../../registry/admission.ts';
import { isNamespace, namespaceObject, namespaceOf } from '../matching/match.ts';
import { admissionRequest, type View } from '../webhooks/review.ts';
import type { Bindings } from './evaluation.ts';

/** The variables of an expression for a request. `params` is null for policies without parameters. */
export function bindingsOf(view: View, authorizer: Authorizer, params: KubeObject | null = null): Bindings {
  const { request, object, old } = view;
  const asked = new AuthorizerValue((question) => answer(question, request, authorizer));
  const { resource, subresource, name } = request;
  const namespace = namespaceOf(request);
  return {
    object: json(object),
    oldObject: json(old),
    params: json(params),
    request: plain(admissionRequest('', { ...view, object: undefined, old: undefined })),
    namespaceObject: isNamespace(resource) || namespace === '' ? null : json(namespaceObject(request)),
    authorizer: asked as Binding,
    'authorizer.requestResource': new ResourceCheck(asked, {
      group: resource.group,
      resource: resource.resource,
      subresource,
      namespace,
      name,
    }) as Binding,
  };
}

function json(object: KubeObject | null | undefined): JsonObject | null {
  return (object as unknown as JsonObject | undefined) ?? null;
}

/** Drops undefined fields, because expressions can test for the presence of a field. */
function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function answer(
  question: AuthorizationQuestion,
  { context }: AdmissionRequest,
  authorizer: Authorizer,
): { allowed: boolean; reason: string } {
  const nothing = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '', path: '' };
  const who = { cluster: context.cluster, user: userOf(question, context.user), verb: question.verb };
  if (question.kind === 'path') return authorizer.authorize({ ...nothing, ...who, isResource: false, path: question.path });
  const { group, resource, subresource, namespace, name } = question;
  return authorizer.authorize({ ...nothing, ...who, isResource: true, version: '*', group, resource, subresource, namespace, name });
}

function userOf({ serviceAccount }: AuthorizationQuestion, user: User): User {
  if (serviceAccount === undefined) return user;
  const { namespace, name } = serviceAccount;
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}

import { formatMicroTime, isObject } from '@capstan/machinery';
import type { User } from '../authn/user.ts';
import type { Attributes } from '../authz/attributes.ts';
import type { Recording, Stage } from './policy.ts';

/** What is known about a request when it is recorded. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly stage: Stage;
  readonly requestUri: string;
  /** What the request wants; `attributes.user` is the impersonated user when there is one. */
  readonly attributes: Attributes;
  /** Who was authenticated, when somebody else is impersonated. */
  readonly impersonator?: User;
  readonly sourceIps: readonly string[];
  readonly userAgent?: string;
  readonly receivedAt: Date;
  readonly at: Date;
  readonly response?: { readonly code: number; readonly status?: string; readonly reason?: string; readonly message?: string };
  /** Of the object that was written, when there is one. */
  readonly object?: { readonly uid?: string; readonly resourceVersion?: string; readonly name?: string };
  readonly decision?: { readonly allowed: boolean; readonly reason: string };
  readonly annotations?: Readonly<Record<string, string>>;
  /** Called only when the level asks for bodies. */
  readonly requestObject?: () => unknown;
  readonly responseObject?: () => unknown;
}

/** Bodies of these would put secrets into the log: whatever the policy says, they are recorded without. */
const secretive = new Set([
  '/secrets',
  '/serviceaccounts/token',
  'authentication.k8s.io/tokenreviews',
  'authentication.k8s.io/tokenrequests',
]);

/** One line of the log: an Event of audit.k8s.io/v1. */
export function eventLine(request: AuditedRequest, recording: Recording): string {
  const { attributes, impersonator, response, decision } = request;
  const level = isSecretive(attributes) ? 'Metadata' : recording.level;
  const body = (make: (() => unknown) | undefined): unknown => withoutManagedFields(make?.(), recording.omitManagedFields);
  return `${JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: request.auditId,
    stage: request.stage,
    requestURI: request.requestUri,
    verb: attributes.verb,
    user: userInfo(impersonator ?? attributes.user),
    impersonatedUser: impersonator && userInfo(attributes.user),
    sourceIPs: request.sourceIps,
    userAgent: request.userAgent,
    objectRef: objectReference(attributes, request.object),
    responseStatus: response && {
      metadata: {},
      status: response.status,
      message: response.message,
      reason: response.reason,
      code: response.code,
    },
    requestObject: level === 'Metadata' ? undefined : body(request.requestObject),
    responseObject: level === 'RequestResponse' && request.stage === 'ResponseComplete' ? body(request.responseObject) : undefined,
    requestReceivedTimestamp: formatMicroTime(request.receivedAt),
    stageTimestamp: formatMicroTime(request.at),
    annotations: annotations(decision, request.annotations),
  })}\n`;
}

function isSecretive({ isResource, group, resource, subresource }: Attributes): boolean {
  return isResource && secretive.has(subresource === '' ? `${group}/${resource}` : `${group}/${resource}/${subresource}`);
}

function userInfo({ name, uid, groups, extra }: User): object {
  return { username: name, uid: uid || undefined, groups, extra };
}

function objectReference(attributes: Attributes, object: AuditedRequest['object']): object | undefined {
  if (!attributes.isResource) return undefined;
  const { resource, namespace, name, group, version, subresource } = attributes;
  return {
    resource,
    namespace: namespace || undefined,
    name: name || object?.name,
    uid: object?.uid,
    apiGroup: group || undefined,
    apiVersion: version || undefined,
    resourceVersion: object?.resourceVersion,
    subresource: subresource || undefined,
  };
}

function annotations(decision: AuditedRequest['decision'], more: AuditedRequest['annotations']): object | undefined {
  if (decision === undefined) return more;
  return {
    'authorization.k8s.io/decision': decision.allowed ? 'allow' : 'forbid',
    'authorization.k8s.io/reason': decision.reason,
    ...more,
  };
}

function withoutManagedFields(body: unknown, omit: boolean): unknown {
  if (!omit || !isObject(body)) return body;
  const cleaned = withoutOwnManagedFields(body);
  const { items } = cleaned;
  if (!Array.isArray(items)) return cleaned;
  return { ...cleaned, items: items.map((item) => (isObject(item) ? withoutOwnManagedFields(item) : item)) };
}

function withoutOwnManagedFields<Body extends Record<string, unknown>>(body: Body): Body {
  if (!isObject(body['metadata'])) return body;
  const { managedFields: _managedFields, ...metadata } = body['metadata'];
  return { ...body, metadata };
}

import { sessionTokenPath, type User } from '@capstan/api';
import { formatMicroTime, isObject } from '@capstan/machinery';
import type { Attributes } from '../authz/attributes.ts';
import { cut, cutList, cutMap } from './cut.ts';
import type { Recording, Stage } from './policy.ts';

/** The facts about a request that are recorded. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly stage: Stage;
  readonly requestUri: string;
  /** `attributes.user` is the impersonated user, if there is one. */
  readonly attributes: Attributes<string>;
  /** The authenticated user, if it impersonates another one. */
  readonly impersonator?: User;
  readonly sourceIps: readonly string[];
  readonly userAgent?: string;
  readonly receivedAt: Date;
  readonly at: Date;
  readonly response?: { readonly code: number; readonly status?: string; readonly reason?: string; readonly message?: string };
  /** The written object, if there is one. */
  readonly object?: { readonly uid?: string; readonly resourceVersion?: string; readonly name?: string };
  readonly decision?: { readonly allowed: boolean; readonly reason: string };
  readonly annotations?: Readonly<Record<string, string>>;
  /** Called only when the level asks for bodies. */
  readonly requestObject?: () => unknown;
  readonly responseObject?: () => unknown;
}

/**
 * Clients choose most of the contents of an event, so lengths are limited. In characters: a path; the path of a request that was not
 * allowed; a name; a text.
 */
const longestPath = 8192;
const longestRefusedPath = 1024;
const longestName = 256;
const longestText = 2048;
/** The limit for a whole user; beyond it, the extra is replaced by its size. */
const longestUser = 32_768;

/** Bodies of these would leak secrets into the log, so they are always recorded at Metadata, whatever the policy says. */
const secretive = new Set([
  '/secrets',
  '/serviceaccounts/token',
  'authentication.k8s.io/tokenreviews',
  'authentication.k8s.io/tokenrequests',
]);

/** One line of the log: an Event of audit.k8s.io/v1. Built by string concatenation for speed, because every write produces one. */
export function eventLine(request: AuditedRequest, recording: Recording): string {
  const { attributes, impersonator, response, userAgent, decision } = request;
  const level = isSecretive(attributes) ? 'Metadata' : recording.level;
  let line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${level}","auditID":${quoted(request.auditId)},"stage":"${request.stage}"`;
  const path = cut(request.requestUri, decision?.allowed === true ? longestPath : longestRefusedPath);
  line += `,"requestURI":${JSON.stringify(path)},"verb":${quoted(attributes.verb)},"user":${userText(impersonator ?? attributes.user)}`;
  if (impersonator !== undefined) line += `,"impersonatedUser":${userText(attributes.user)}`;
  line += `,"sourceIPs":${JSON.stringify(cutList(request.sourceIps, longestName))}`;
  if (userAgent !== undefined) line += `,"userAgent":${quoted(userAgent)}`;
  if (attributes.isResource) line += `,"objectRef":${objectReference(attributes, request.object)}`;
  if (response !== undefined) line += `,"responseStatus":${responseText(response)}`;
  if (level !== 'Metadata') line += body('requestObject', request.requestObject, recording);
  if (level === 'RequestResponse' && request.stage === 'ResponseComplete')
    line += body('responseObject', request.responseObject, recording);
  line += `,"requestReceivedTimestamp":"${formatMicroTime(request.receivedAt)}","stageTimestamp":"${formatMicroTime(request.at)}"`;
  const decided = decision && decisionAnnotations(decision);
  // The server's annotations win over those of webhooks and policies.
  const annotations = decided === undefined ? request.annotations : { ...decided, ...request.annotations, ...decided };
  if (annotations === undefined) return `${line}}\n`;
  return `${line},"annotations":${JSON.stringify(cutMap(annotations, longestName, (value) => cut(value, longestText)))}}\n`;
}

const quoted = (value: string): string => JSON.stringify(cut(value, longestName));

const userTexts = new WeakMap<User, string>();

/** Authenticators return the same user object for many requests. */
function userText(user: User): string {
  let known = userTexts.get(user);
  if (known === undefined) {
    const username = cut(user.name, longestName);
    const uid = user.uid ? cut(user.uid, longestName) : undefined;
    const groups = cutList(user.groups, longestName);
    const extra = user.extra && cutMap(user.extra, longestName, (values) => cutList(values, longestName));
    known = JSON.stringify({ username, uid, groups, extra });
    if (known.length > longestUser) known = JSON.stringify({ username, uid, groups, extra: { '…': [`(${known.length} characters)`] } });
    userTexts.set(user, known);
  }
  return known;
}

function responseText({ code, status, message, reason }: NonNullable<AuditedRequest['response']>): string {
  return status === undefined
    ? `{"metadata":{},"code":${code}}`
    : JSON.stringify({ metadata: {}, status, message: message && cut(message, longestText), reason, code });
}

function body(name: string, make: (() => unknown) | undefined, { omitManagedFields }: Recording): string {
  const value = withoutManagedFields(make?.(), omitManagedFields);
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

function isSecretive({ isResource, group, resource, subresource, path }: Attributes<string>): boolean {
  if (!isResource) return path === sessionTokenPath;
  return secretive.has(subresource === '' ? `${group}/${resource}` : `${group}/${resource}/${subresource}`);
}

function objectReference(
  { resource, namespace, name, group, version, subresource }: Attributes<string>,
  object: AuditedRequest['object'],
): string {
  let reference = `{"resource":${quoted(resource)}`;
  if (namespace !== '') reference += `,"namespace":${quoted(namespace)}`;
  const objectName = name || object?.name;
  if (objectName) reference += `,"name":${quoted(objectName)}`;
  if (object?.uid) reference += `,"uid":${quoted(object.uid)}`;
  if (group !== '') reference += `,"apiGroup":${quoted(group)}`;
  if (version !== '') reference += `,"apiVersion":${quoted(version)}`;
  if (object?.resourceVersion) reference += `,"resourceVersion":${quoted(object.resourceVersion)}`;
  if (subresource !== '') reference += `,"subresource":${quoted(subresource)}`;
  return `${reference}}`;
}

function decisionAnnotations({ allowed, reason }: NonNullable<AuditedRequest['decision']>): Record<string, string> {
  return { 'authorization.k8s.io/decision': allowed ? 'allow' : 'forbid', 'authorization.k8s.io/reason': reason };
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

import type { User } from '@capstan/api';
import { type KubeObject, parseApiVersion, parsePatchOptions } from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Resource } from '../../registry/resource.ts';
import { namespaceOf } from '../matching/match.ts';
import { converted } from '../matching/versions.ts';
import { naming } from '../source.ts';

export type ReviewVersion = 'v1' | 'v1beta1';

/** A request as a webhook sees it, in the version that matches the webhook's rules. */
export interface View {
  readonly request: AdmissionRequest;
  readonly resource: Resource;
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
}

export async function viewOf(request: AdmissionRequest, resource: Resource): Promise<View> {
  const { object, old, shape, resource: own } = request;
  // The object of a subresource is the same in every version.
  if (shape !== undefined || resource === own) return { request, resource, object, old };
  return {
    request,
    resource,
    object: object && (await converted(object, own, resource)),
    old: old && (await converted(old, own, resource)),
  };
}

/** The same view with objects that name their workspace, because a webhook may serve several workspaces. */
export function named(view: View): View {
  const { request, object, old } = view;
  return request.shape === undefined ? { ...view, object: naming(object, request), old: naming(old, request) } : view;
}

/** The first supported version in the webhook's list. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find((version): version is ReviewVersion => version === 'v1' || version === 'v1beta1');
}

/** The AdmissionReview for a request, as text. */
export function reviewText(version: ReviewVersion, uid: string, view: View): string {
  return JSON.stringify({ kind: 'AdmissionReview', apiVersion: `admission.k8s.io/${version}`, request: admissionRequest(uid, view) });
}

/** The request in the form that webhooks and expressions use. */
export function admissionRequest(uid: string, { request, resource, object, old }: View) {
  const subresource = request.subresource || undefined;
  return {
    ...(uid !== '' && { uid }),
    kind: kindOf(request, resource),
    resource: resourceOf(resource),
    subResource: subresource,
    requestKind: kindOf(request, request.resource),
    requestResource: resourceOf(request.resource),
    requestSubResource: subresource,
    name: nameOf(request) || undefined,
    namespace: namespaceOf(request) || undefined,
    operation: request.operation,
    userInfo: userInfo(request.context.user),
    object: object ?? null,
    oldObject: old ?? null,
    dryRun: request.dryRun,
    options: optionsOf(request),
  };
}

/** Deletions of a collection have no name. */
function nameOf({ name, context }: AdmissionRequest): string {
  return context.info.verb === 'deletecollection' ? '' : name;
}

export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export function kindOf({ shape }: AdmissionRequest, { group, version, kind }: Resource): KindName {
  if (shape === undefined) return { group, version, kind };
  return { ...parseApiVersion(shape.groupVersion), kind: shape.kind };
}

function resourceOf({ group, version, resource }: Resource): { group: string; version: string; resource: string } {
  return { group, version, resource };
}

function userInfo({ name, uid, groups, extra }: User): object {
  return { username: name || undefined, uid: uid || undefined, groups, extra };
}

function optionsOf({ operation, options, context }: AdmissionRequest): object {
  const apiVersion = 'meta.k8s.io/v1';
  if (operation === 'DELETE') return { ...options, kind: 'DeleteOptions', apiVersion };
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions';
  if (context.info.query.isEmpty) return { kind, apiVersion };
  const { dryRun, fieldManager, fieldValidation } = parsePatchOptions(context.info.query);
  return { kind, apiVersion, dryRun, fieldManager: fieldManager || undefined, fieldValidation: fieldValidation || undefined };
}

import type { CachedResource, ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { FieldPath, fieldError, sameJson, status, validateLabelSelector } from '@capstan/machinery';
import type { Authorizer } from '../../authz/attributes.ts';
import { type AdmissionPlugin, type AdmissionRequest, isValidated } from '../../registry/admission.ts';
import type { Resource } from '../../registry/resource.ts';
import { isSystem } from '../system-user.ts';
import { cachedResources, type PublishedKind, publishedBy } from './names.ts';

export interface PublishingRules {
  readonly objects: ObjectReader;
  /** Authorizes by roles alone. */
  readonly rbac: Authorizer;
  /** The kind in a workspace; undefined if the workspace lacks it. */
  readonly kindIn: (cluster: ClusterId, kind: PublishedKind) => Resource | undefined;
  /** True for kinds of Kubernetes and the platform, whose objects must not be published. */
  readonly isOwn: (group: string, resource: string) => boolean;
}

/** Checks what may be published, and by whom. */
export function cachedResourceAdmission(rules: PublishingRules): AdmissionPlugin {
  return {
    name: 'CachedResource',
    validate(request) {
      if (!isValidated(request, cachedResources)) return;
      const { object, old, operation, subresource } = request;
      if (operation === 'DELETE' || object === undefined || subresource !== '') return;
      const kind = publishedBy(object);
      if (old === undefined || !sameJson(publishedBy(old), kind)) checkKind(request, rules, kind);
      if (old !== undefined && !isWider(object, old)) return;
      checkSelector(request, object);
      checkReader(request, rules, kind);
    },
  };
}

function checkKind(request: AdmissionRequest, { objects, kindIn, isOwn }: PublishingRules, kind: PublishedKind): void {
  const { name, context } = request;
  const { group, version, resource } = kind;
  const printed = group === '' ? resource : `${resource}.${group}`;
  if (isOwn(group, resource)) refuse(request, printed, 'Resource referenced in CachedResource must not be a built-in or platform kind');
  // A missing kind is reported later in a condition, since it may still be created.
  if (kindIn(context.cluster, kind)?.namespaced === true)
    refuse(request, printed, 'Resource referenced in CachedResource must be cluster-scoped');
  const others = objects.list(cachedResources, context.cluster).filter(({ metadata }) => metadata.name !== name);
  if (others.some((other) => sameJson(publishedBy(other), kind)))
    refuse(request, `${group}.${version}.${resource}`, `CachedResource with this GVR already exists in the "${context.cluster}" workspace`);
}

/** Whether more may be published than before; any change counts. */
function isWider(object: CachedResource, old: CachedResource): boolean {
  return !sameJson(publishedBy(object), publishedBy(old)) || !sameJson(object.spec?.labelSelector, old.spec?.labelSelector);
}

function checkSelector({ resource, name }: AdmissionRequest, { spec }: CachedResource): void {
  const errors = validateLabelSelector(spec?.labelSelector, FieldPath.of('spec', 'labelSelector'));
  if (errors.length > 0) throw status.invalidObject({ group: resource.group, kind: resource.kind }, name, errors);
}

/** Publishing lets others read, so it requires permission to read. */
function checkReader({ resource, name, context }: AdmissionRequest, { rbac }: PublishingRules, kind: PublishedKind): void {
  const { user, cluster } = context;
  if (isSystem(user)) return;
  const wanted = { ...kind, cluster, user, verb: 'list', isResource: true, subresource: '', namespace: '', name: '', path: '' };
  if (rbac.authorize(wanted).allowed) return;
  const printed = kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
  throw status.forbidden(resource, name, `unable to publish ${printed}: no permission to list them in this workspace`);
}

function refuse({ resource, name }: AdmissionRequest, value: string, why: string): never {
  const { field, body } = fieldError.invalid(FieldPath.of('spec'), value, why);
  throw status.forbidden(resource, name, `${field}: ${body}`);
}

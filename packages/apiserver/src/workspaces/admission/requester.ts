import {
  type ClusterId,
  controllerManagerUser,
  createdByAnnotation,
  platformControllersUser,
  requestedByAnnotation,
  type User,
} from '@capstan/api';
import { fieldsOf, type JsonObject, type KubeObject, maybeFields, textOf } from '@capstan/machinery';
import { cut } from '../../audit/cut.ts';
import { abroad, homeOf } from '../../authn/service-account.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { specChanged } from '../../registry/metadata.ts';
import { serverUser } from '../../upkeep/context.ts';
import { isPlatformAccount } from '../authorizer.ts';

const stamps = [createdByAnnotation, requestedByAnnotation] as const;
/** The subresources whose spec users ask for. */
const asking: ReadonlySet<string> = new Set(['', 'scale']);
const ownGroups = '.capstan.dev';
/** As in the audit log: a name has no limit of its own. */
const longestName = 256;

/**
 * Writes on objects of the platform's kinds who created them and who last asked for another spec. Clients cannot choose either: whatever they send, or
 * remove, is replaced. The platform's own accounts act for others, so their changes keep the name of the person who asked; and an object that they
 * create may name the person whom it is for.
 *
 * It comes after webhooks and policies, which belong to tenants.
 */
export function requesterStamps({ platform }: { readonly platform: () => string | undefined }): AdmissionPlugin {
  return {
    name: 'RequesterStamps',
    mutate(request) {
      const { object, old, resource, shape, operation, whole } = request;
      if (object === undefined || !resource.group.endsWith(ownGroups)) return;
      // A subresource that shows an object of another kind, such as a Scale, has no annotations of the object itself.
      const stamped = shape === undefined ? { object, old } : whole;
      if (stamped === undefined) return;
      if (operation === 'CREATE' && request.subresource === '') stamp(object, madeBy(request, platform));
      else if (stamped.old !== undefined) stamp(stamped.object, changedBy(request, stamped.old, platform));
    },
  };
}

type Stamps = Readonly<Partial<Record<(typeof stamps)[number], string>>>;

function madeBy({ object, context }: AdmissionRequest, platform: () => string | undefined): Stamps {
  const creator = nameOf(context.user, context.cluster);
  const named = actsForOthers(context.user, platform) ? textOf(fieldsOf(object!.metadata.annotations)[requestedByAnnotation]) : '';
  return { [createdByAnnotation]: creator, [requestedByAnnotation]: named === '' ? creator : cut(named, longestName) };
}

/** `whole` is the object as it was; that of the request may be the Scale of it. */
function changedBy({ object, old, subresource, context }: AdmissionRequest, whole: KubeObject, platform: () => string | undefined): Stamps {
  const before = whole.metadata.annotations ?? {};
  const isAsked = asking.has(subresource) && specChanged(object!, old!) && !actsForOthers(context.user, platform);
  const requester = isAsked ? nameOf(context.user, context.cluster) : before[requestedByAnnotation];
  return {
    ...(before[createdByAnnotation] !== undefined && { [createdByAnnotation]: before[createdByAnnotation] }),
    ...(requester !== undefined && { [requestedByAnnotation]: requester }),
  };
}

/** Whether a user is the platform itself: the server, its controllers, and the accounts of products. */
function actsForOthers(user: User, platform: () => string | undefined): boolean {
  if (user === serverUser || user.name === controllerManagerUser || user.name === platformControllersUser) return true;
  const home = homeOf(user);
  return isPlatformAccount(user) || (home !== undefined && home === platform());
}

/** Many workspaces have accounts of the same name, so those of others are named with their workspace. */
function nameOf(user: User, cluster: ClusterId): string {
  const home = homeOf(user);
  return cut(home === undefined || home === cluster ? user.name : abroad(user, home).name, longestName);
}

function stamp(object: KubeObject, wanted: Stamps): void {
  const { [createdByAnnotation]: _created, [requestedByAnnotation]: _requested, ...others } = object.metadata.annotations ?? {};
  const annotations = { ...others, ...wanted };
  if (Object.keys(annotations).length > 0) object.metadata.annotations = annotations;
  else delete object.metadata.annotations;
  for (const { fieldsV1 } of object.metadata.managedFields ?? []) disown(fieldsV1 as JsonObject | undefined);
}

/** A client that applies what it has read would own the stamps, and conflict with the next one that does. */
function disown(fields: JsonObject | undefined): void {
  const metadata = maybeFields(fields?.['f:metadata']);
  const annotations = maybeFields(metadata?.['f:annotations']);
  if (metadata === undefined || annotations === undefined) return;
  for (const name of stamps) delete annotations[`f:${name}`];
  const isEmpty = (owned: object): boolean => Object.keys(owned).every((key) => key === '.');
  if (isEmpty(annotations)) delete metadata['f:annotations'];
  if (isEmpty(metadata)) delete fields!['f:metadata'];
}

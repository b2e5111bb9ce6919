import {
  clusterIdAnnotation,
  type MountReference,
  ownerAnnotation,
  requiredGroupsAnnotation,
  type Workspace,
  workspaceFinalizer,
} from '@capstan/api';
import { newClusterId } from '@capstan/api/hashes';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, sameJson } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import { type AdmissionPlugin, type AdmissionRequest, isOf, isValidated } from '../../registry/admission.ts';
import { isSystem } from '../system-user.ts';
import { logicalClusterOf, workspaces } from '../tree.ts';
import { ownerText } from './owner.ts';

/** Sets the defaults of a new Workspace, and rejects changes that its users may not make. */
export const workspaceRules: AdmissionPlugin = {
  name: 'Workspace',
  mutate(request) {
    if (!isWorkspace(request)) return;
    if (request.operation === 'CREATE') complete(request);
    else if (request.operation === 'UPDATE' && !isSystem(request.context.user)) restore(request.object!, request.old!);
  },
  validate(request) {
    if (!isValidated(request, workspaces)) return;
    const why =
      request.operation === 'CREATE' ? problemOfNew(request) : request.operation === 'UPDATE' ? problemOfChange(request) : undefined;
    if (why !== undefined) throw forbidden(request, why);
  },
};

export const isWorkspace = (request: AdmissionRequest): boolean => isOf(request, workspaces);

function complete(request: AdmissionRequest): void {
  const { context } = request;
  const { metadata } = request.object!;
  const annotations = { ...metadata.annotations };
  if (!isSystem(context.user) || annotations[ownerAnnotation] === undefined) annotations[ownerAnnotation] = ownerText(context.user);
  if (!isSystem(context.user) || annotations[requiredGroupsAnnotation] === undefined) {
    const required = requiredGroups(request);
    if (required === undefined) delete annotations[requiredGroupsAnnotation];
    else annotations[requiredGroupsAnnotation] = required;
  }
  if (fieldsOf(request.object!['spec'])['mount'] === undefined) {
    if (!isSystem(context.user) || annotations[clusterIdAnnotation] === undefined) annotations[clusterIdAnnotation] = newClusterId();
    metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), workspaceFinalizer])];
  } else delete annotations[clusterIdAnnotation];
  metadata.annotations = annotations;
}

/** Users cannot change which workspace it represents, its owner, and the groups that it requires. */
const keptAnnotations = [clusterIdAnnotation, ownerAnnotation, requiredGroupsAnnotation];

function restore(object: KubeObject, old: KubeObject): void {
  for (const name of keptAnnotations) {
    const value = old.metadata.annotations?.[name];
    if (value !== undefined) object.metadata.annotations = { ...object.metadata.annotations, [name]: value };
    else if (object.metadata.annotations !== undefined) delete object.metadata.annotations[name];
  }
  const { finalizers = [] } = object.metadata;
  if (old.metadata.finalizers?.includes(workspaceFinalizer) === true && !finalizers.includes(workspaceFinalizer))
    object.metadata.finalizers = [...finalizers, workspaceFinalizer];
}

function requiredGroups({ context }: AdmissionRequest): string | undefined {
  return logicalClusterOf(context.objects, context.cluster)?.metadata.annotations?.[requiredGroupsAnnotation];
}

type Spec = NonNullable<Workspace['spec']>;

function problemOfNew(request: AdmissionRequest<Workspace>): string | undefined {
  const { spec = {} } = request.object!;
  const isPrivileged = isSystem(request.context.user);
  const { annotations = {} } = request.object!.metadata;
  if (spec.cluster && !isPrivileged) return 'spec.Cluster can only be set by system privileged users';
  if (spec.URL && !isPrivileged) return 'spec.URL can only be set by system privileged users';
  if (!isPrivileged) {
    const owner = ownerText(request.context.user);
    if (annotations[ownerAnnotation] !== owner) return `expected user annotation ${ownerAnnotation}=${owner}`;
    const required = requiredGroups(request) ?? '';
    if ((annotations[requiredGroupsAnnotation] ?? '') !== required)
      return `missing required groups annotation ${requiredGroupsAnnotation}=${required}`;
  }
  if (spec.mount === undefined) return undefined;
  for (const field of ['kind', 'name', 'apiVersion'] as const) if (spec.mount.ref[field] === '') return `spec.mount.${field} must be set`;
  return !isPrivileged && spec.type !== undefined ? 'spec.type cannot be set for mounted workspaces' : undefined;
}

function problemOfChange(request: AdmissionRequest<Workspace>): string | undefined {
  const { spec = {}, status } = request.object!;
  const { spec: old = {}, status: before } = request.old!;
  const isPrivileged = isSystem(request.context.user);
  if (old.mount !== undefined) return problemOfMount(spec, old, isPrivileged);
  if (spec.mount !== undefined) return 'spec.mount is immutable';
  if (old.cluster && !spec.cluster) return 'spec.cluster cannot be unset';
  if (!isPrivileged && differs(old.cluster, spec.cluster)) return 'spec.cluster can only be changed by system privileged users';
  if (!isPrivileged && differs(old.URL, spec.URL)) return 'spec.URL can only be changed by system privileged users';
  if (!sameJson(old.type, spec.type)) return 'spec.type is immutable';
  if (status?.phase !== 'Ready' || before?.phase === 'Ready') return undefined;
  if (!spec.cluster) return 'spec.cluster must be set for phase Ready';
  return spec.URL ? undefined : 'spec.URL must be set for phase Ready';
}

/** An absent text equals an empty one. */
const differs = (one = '', other = ''): boolean => one !== other;

const mountFields: readonly (keyof MountReference)[] = ['kind', 'name', 'namespace', 'apiVersion'];

function problemOfMount(spec: Spec, old: Spec, isPrivileged: boolean): string | undefined {
  for (const field of mountFields) if (differs(old.mount?.ref[field], spec.mount?.ref[field])) return `spec.mount.${field} is immutable`;
  if (isPrivileged) return undefined;
  if (differs(old.cluster, spec.cluster)) return 'spec.cluster can only be changed by system privileged users';
  if (differs(old.URL, spec.URL)) return 'spec.URL can only be changed by system privileged users';
  if (spec.type !== undefined) return 'spec.type cannot be set for mounted workspaces';
  return sameJson(old.type, spec.type) ? undefined : 'spec.type is immutable';
}

import type { User } from '@capstan/api';
import {
  FieldPath,
  fieldError,
  fieldsOf,
  type KubeObject,
  maybeFields,
  parseApiVersion,
  sameJson,
  status,
  textOf,
} from '@capstan/machinery';
import type { Authorizer } from '../../authz/attributes.ts';
import { settled } from '../../authz/settled.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { Misconfigured, paramResource } from './params.ts';
import type { PolicyOptions } from './policies.ts';
import { type ParamKind, paramKindOf } from './policy.ts';

const group = 'admissionregistration.k8s.io';
const policies: ReadonlySet<string> = new Set(['validatingadmissionpolicies', 'mutatingadmissionpolicies']);
/** The policies that each kind of binding refers to. */
const bound: ReadonlyMap<string, string> = new Map([
  ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'],
  ['mutatingadmissionpolicybindings', 'mutatingadmissionpolicies'],
]);

/** Requires writers of a policy or binding to have read access to its parameters, because a policy can reveal them in its messages. */
export function paramAccess(options: PolicyOptions): AdmissionPlugin {
  return {
    name: 'PolicyParamAccess',
    validate(request) {
      const { resource, object, subresource, context } = request;
      if (resource.group !== group || object === undefined || subresource !== '' || context.user.groups.includes('system:masters')) return;
      const policyResource = bound.get(resource.resource);
      if (policies.has(resource.resource))
        return settled(options.authorizer, (authorizer) => checkKind(request, object, { ...options, authorizer }));
      if (policyResource !== undefined)
        return settled(options.authorizer, (authorizer) => checkReference(request, object, { ...options, authorizer, policyResource }));
    },
  };
}

type Options = PolicyOptions & { readonly authorizer: Authorizer };

/** The resource to check access for, with `*` for parts that cannot be resolved. */
interface Target {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const anything: Target = { group: '*', version: '*', resource: '*' };

function targetOf(paramKind: ParamKind, request: AdmissionRequest, { catalogs }: PolicyOptions): Target {
  try {
    const found = paramResource({ paramKind }, catalogs.of(request.context.cluster))!;
    return { group: found.group, version: found.version, resource: found.resource };
  } catch (error) {
    if (!(error instanceof Misconfigured)) throw error;
    return { ...parseApiVersion(paramKind.apiVersion), resource: '*' };
  }
}

function checkKind(request: AdmissionRequest, object: KubeObject, options: Options): void {
  const paramKind = paramKindOf(fieldsOf(object['spec']));
  if (paramKind === undefined || sameJson(paramKind, paramKindOf(fieldsOf(request.old?.['spec'])))) return;
  const target = targetOf(paramKind, request, options);
  if (mayRead(request, options.authorizer, { ...target, verb: 'get', namespace: '*', name: '*' })) return;
  const what = `all objects of the referenced paramKind (kind=${paramKind.kind}, apiVersion=${paramKind.apiVersion})`;
  throw refused(request, 'paramKind', `user ${printUser(request.context.user)} must have "get" permission on ${what}`);
}

function checkReference(request: AdmissionRequest, object: KubeObject, options: Options & { policyResource: string }): void {
  const [spec, before] = [fieldsOf(object['spec']), fieldsOf(request.old?.['spec'])];
  const reference = maybeFields(spec['paramRef']);
  if (reference === undefined) return;
  if (sameJson(reference, before['paramRef']) && spec['policyName'] === before['policyName']) return;
  const { cluster, objects, user } = request.context;
  const policyName = textOf(spec['policyName']);
  const policy = objects.get({ group, resource: options.policyResource, cluster, namespace: '', name: policyName });
  const paramKind = paramKindOf(fieldsOf(policy?.['spec']));
  const target = paramKind === undefined ? anything : targetOf(paramKind, request, options);
  const name = textOf(reference['name']);
  const verb = name === '' ? 'list' : 'get';
  if (mayRead(request, options.authorizer, { ...target, verb, namespace: textOf(reference['namespace']), name })) return;
  const who = printUser(user);
  const everywhere = `to determine minimum required permissions and user ${who} does not have "${verb}" permission for all groups, versions and resources`;
  if (policy === undefined) throw refused(request, 'paramRef', `unable to get policy ${policyName} ${everywhere}`);
  if (paramKind !== undefined && target.resource === '*') {
    throw refused(request, 'paramRef', `unable to resolve paramKind &{${paramKind.apiVersion} ${paramKind.kind}} ${everywhere}`);
  }
  throw refused(request, 'paramRef', `user ${who} does not have "${verb}" permission on the object referenced by paramRef`);
}

function mayRead(
  { context }: AdmissionRequest,
  authorizer: Authorizer,
  asked: Target & { readonly verb: string; readonly namespace: string; readonly name: string },
): boolean {
  const { cluster, user } = context;
  return authorizer.authorize({ ...asked, cluster, user, isResource: true, subresource: '', path: '' }).allowed;
}

function refused({ resource, name, object }: AdmissionRequest, field: string, why: string): Error {
  return status.invalidObject(resource, name || (object?.metadata.name ?? ''), [fieldError.forbidden(FieldPath.of('spec', field), why)]);
}

/** Formats a user as Go does. */
function printUser({ name, uid = '', groups, extra = {} }: User): string {
  const more = Object.keys(extra)
    .sort()
    .map((key) => `${key}:[${extra[key]!.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${more.join(' ')}]}`;
}

import { pathAnnotation, superuserGroup, typeAnnotation, type Workspace, type WorkspaceTypeReference } from '@capstan/api';
import { type Fields, fieldsOf, textOf } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import type { Authorizer } from '../../authz/attributes.ts';
import { type AdmissionPlugin, type AdmissionRequest, isValidated } from '../../registry/admission.ts';
import { logicalClusterOf, workspaces } from '../tree.ts';
import { MissingType, TypeProblem, type WorkspaceType, type WorkspaceTypes, workspaceTypes } from '../types/workspace-types.ts';
import { isWorkspace } from './workspace.ts';

/** Sets the type of a new Workspace, and checks that the type exists, that the user may use it, and that it fits the parent's type. */
export function workspaceTypeUse({ types, authorizer }: { types: WorkspaceTypes; authorizer: Authorizer }): AdmissionPlugin {
  const applies = (request: AdmissionRequest): boolean =>
    request.operation === 'CREATE' && isWorkspace(request) && fieldsOf(request.object!['spec'])['mount'] === undefined;
  return {
    name: 'WorkspaceTypeExists',
    mutate(request) {
      if (applies(request)) explained(request, { types, authorizer }, () => choose(request, types, authorizer));
    },
    validate(request) {
      if (applies(request) && isValidated(request, workspaces))
        explained(request, { types, authorizer }, () => check(request, types, authorizer));
    },
  };
}

interface Judges {
  readonly types: WorkspaceTypes;
  readonly authorizer: Authorizer;
}

function explained(request: AdmissionRequest, judges: Judges, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof TypeProblem ? forbidden(request, messageFor(request, judges, error)) : error;
  }
}

/** A user who may not read the types of a workspace gets one message, whether the type or the workspace is missing or belongs to others. */
function messageFor({ context: { user } }: AdmissionRequest, { types, authorizer }: Judges, error: TypeProblem): string {
  if (!(error instanceof MissingType)) return error.message;
  const cluster = types.clusterAt(error.path);
  const mayKnow =
    user.groups.includes(superuserGroup) || (cluster !== undefined && authorizer.authorize({ ...reading, cluster, user }).allowed);
  return mayKnow ? error.message : unusable(`${error.path}:${error.type}`);
}

const unusable = (type: string): string => `unable to use workspace type ${type}: missing verb='use' permission on workspacetype`;

function choose(request: AdmissionRequest, types: WorkspaceTypes, authorizer: Authorizer): void {
  const object = request.object!;
  const spec = { ...fieldsOf(object['spec']) };
  const given = fieldsOf(spec['type']);
  const wanted: Readonly<Fields> = textOf(given['name']) === '' ? { ...defaultChild(parentType(request, types)) } : given;
  const type = types.resolve({ path: textOf(wanted['path']), name: textOf(wanted['name']) }, pathOf(request));
  // Before anything else is said or done about it: neither errors nor labels may tell about types of others.
  if (!mayUse(type, request, authorizer)) throw new TypeProblem(unusable(`${textOf(wanted['path']) || type.path}:${type.name}`));
  spec['type'] = { name: type.name, path: textOf(wanted['path']) || type.path };
  object['spec'] = spec;
  const more = type.spec.additionalWorkspaceLabels ?? {};
  if (Object.keys(more).length > 0) object.metadata.labels = { ...more, ...object.metadata.labels };
}

function defaultChild({ spec, qualified }: WorkspaceType): WorkspaceTypeReference {
  if (spec.defaultChildWorkspaceType === undefined)
    throw new TypeProblem(`spec.defaultChildWorkspaceType of workspace type ${qualified} must be set`);
  return spec.defaultChildWorkspaceType;
}

function check(request: AdmissionRequest<Workspace>, types: WorkspaceTypes, authorizer: Authorizer): void {
  const { path = '', name = '' } = request.object!.spec?.type ?? {};
  if (path === '') throw new TypeProblem('spec.type.path must be set');
  const child = types.withInherited(types.resolve({ path, name }, request.context.cluster));
  for (const type of child) {
    if (!mayUse(type, request, authorizer)) throw new TypeProblem(unusable(type.qualified));
  }
  const parent = parentType(request, types);
  const parents = types.withInherited(parent);
  const childName = `${path}:${name}`;
  const problems = [
    ...limits(child, parents, { kind: 'parent', own: childName, other: parent.qualified }),
    ...limits(parents, child, { kind: 'child', own: parent.qualified, other: childName }),
  ];
  if (problems.length > 0) throw new TypeProblem(problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`);
}

function mayUse({ cluster, name }: WorkspaceType, { context: { user } }: AdmissionRequest, authorizer: Authorizer): boolean {
  return authorizer.authorize({ ...using, cluster, user, name }).allowed;
}

const using = {
  verb: 'use',
  isResource: true,
  ...workspaceTypes,
  version: 'v1alpha1',
  subresource: '',
  namespace: '',
  path: '',
} as const;
const reading = { ...using, verb: 'get', name: '' } as const;

/** The violated limits of these types: of children on parents, or of parents on children. */
function limits(
  own: readonly WorkspaceType[],
  others: readonly WorkspaceType[],
  words: { kind: 'parent' | 'child'; own: string; other: string },
): string[] {
  const field = words.kind === 'parent' ? 'limitAllowedParents' : 'limitAllowedChildren';
  return own.flatMap((type) => {
    const limit = type.spec[field];
    if (limit?.none === true) return [`workspace type ${words.own} cannot have any ${words.kind}`];
    const allowed = (limit?.types ?? []).map(({ path = '', name }) => `${path}:${name}`);
    if (allowed.length === 0 || others.some(({ qualified }) => allowed.includes(qualified))) return [];
    const extending = type.qualified === words.own ? '' : ` extends ${type.qualified}, which`;
    const implemented = others.map(({ qualified }) => qualified);
    return [
      `workspace type ${words.own}${extending} only allows ${listed(allowed)} ${words.kind} workspaces, but ${words.kind} type ${words.other} only implements ${listed(implemented)}`,
    ];
  });
}

const listed = (names: readonly string[]): string => `[${[...new Set(names)].sort().join(' ')}]`;

/** The type of the workspace in which the new one is created. */
function parentType({ context }: AdmissionRequest, types: WorkspaceTypes): WorkspaceType {
  const text = logicalClusterOf(context.objects, context.cluster)?.metadata.annotations?.[typeAnnotation];
  if (text === undefined) throw new TypeProblem(`annotation ${typeAnnotation} on LogicalCluster must be set`);
  const colon = text.lastIndexOf(':');
  if (colon < 0) throw new TypeProblem(`annotation ${typeAnnotation} on LogicalCluster must be in the form of cluster:name`);
  const found = types.at({ path: text.slice(0, colon), name: text.slice(colon + 1) });
  if (found === undefined) throw new TypeProblem(`parent type cannot be resolved: workspacetypes.tenancy.kcp.io "${text}" not found`);
  return found;
}

function pathOf({ context }: AdmissionRequest): string {
  return logicalClusterOf(context.objects, context.cluster)?.metadata.annotations?.[pathAnnotation] ?? context.cluster;
}

import {
  type ApiBinding,
  type ApiExport,
  type ExportedResource,
  type KindDefinition,
  objectSchema,
  type PermissionClaim,
  platformWorkspace,
} from '@capstan/api';
import { apiResourceSchema, withApplied } from '@capstan/api/hashes';
import { compileSchema, copyJson, type JsonObject, type KubeObject } from '@capstan/machinery';
import type { PolicyRule, Product, ProductNamespace } from '../product.ts';
import {
  accountName,
  accountRoleName,
  catalogName,
  exportName,
  platformExportName,
  productsNamespace,
  reporterRoleName,
  tenantRoleName,
} from './names.ts';

const v1alpha1 = 'apis.kcp.io/v1alpha1';
const v1alpha2 = 'apis.kcp.io/v1alpha2';
const rbac = 'rbac.authorization.k8s.io';
/** Users and groups of tenants have this prefix when the provider's rules are asked about them. */
const asTenant = 'apis.kcp.io:binding:';

const isCatalog = ({ catalogs = [] }: Product, kind: KindDefinition): boolean => catalogs.includes(kind);

export const schemasOf = ({ kinds }: Product): KubeObject[] => kinds.map(apiResourceSchema);

/** The kinds that root:platform stores because of the product, and the export that it binds for them; undefined if it binds none. */
export function boundByPlatform(product: Product): { readonly export: string; readonly kinds: readonly KindDefinition[] } | undefined {
  const { kinds, catalogs = [], boundBy } = product;
  const isBound = boundBy.includes('platform');
  if (catalogs.length > 0) return { export: platformExportName(product), kinds: isBound ? kinds : catalogs };
  return isBound ? { export: exportName(product), kinds } : undefined;
}

/** The export that tenants bind. `identities` has the identity of each catalog, `claims` those of the product with all identities. */
export function tenantExport(
  product: Product,
  { identities, claims }: { readonly identities: ReadonlyMap<KindDefinition, string>; readonly claims: readonly PermissionClaim[] },
): ApiExport {
  const resources = product.kinds.map((kind): ExportedResource => {
    const identityHash = identities.get(kind);
    if (identityHash === undefined) return stored(kind);
    const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: catalogName(kind) };
    return { ...stored(kind), storage: { virtual: { reference, identityHash } } };
  });
  return exportOf(exportName(product), resources, { claims, isLimited: isForTenants(product) });
}

/** The export that only root:platform binds. */
export function platformExport(product: Product, kinds: readonly KindDefinition[]): ApiExport {
  return exportOf(platformExportName(product), kinds.map(stored), { claims: [], isLimited: false });
}

/** Whether others than root:platform bind the product, of their own accord or by their type. */
const isForTenants = ({ boundBy }: Product): boolean => boundBy.length === 0 || boundBy.some((binder) => binder !== 'platform');

function exportOf(
  name: string,
  resources: readonly ExportedResource[],
  { claims, isLimited }: { readonly claims: readonly PermissionClaim[]; readonly isLimited: boolean },
): ApiExport {
  const maximalPermissionPolicy = isLimited ? { local: {} } : undefined;
  const spec = { resources, permissionClaims: claims, maximalPermissionPolicy };
  return { apiVersion: v1alpha2, kind: 'APIExport', metadata: { name }, spec };
}

function stored(kind: KindDefinition): ExportedResource {
  return { group: kind.group, name: kind.resource, schema: apiResourceSchema(kind).metadata.name, storage: { crd: {} } };
}

export function endpointSlice(product: Product): KubeObject {
  const name = exportName(product);
  return { apiVersion: v1alpha1, kind: 'APIExportEndpointSlice', metadata: { name }, spec: { export: { path: platformWorkspace, name } } };
}

/** The binding of an export by root:platform itself. */
export function platformBinding(name: string, claims: readonly PermissionClaim[]): ApiBinding {
  const permissionClaims = claims.map(({ defaultSelector = { matchAll: true }, ...claim }) => ({
    ...claim,
    selector: defaultSelector,
    state: 'Accepted' as const,
  }));
  const reference = { export: { path: platformWorkspace, name } };
  const spec = { reference, ...(permissionClaims.length > 0 && { permissionClaims }) };
  return { apiVersion: v1alpha2, kind: 'APIBinding', metadata: { name }, spec };
}

export function cachedResource(kind: KindDefinition): KubeObject {
  const { group, version, resource } = kind;
  return {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name: catalogName(kind) },
    spec: { group, version, resource },
  };
}

/** An object that comes with the program, as the server stores it, with a record of its fields. */
export function ownObject(kind: KindDefinition, object: KubeObject): KubeObject {
  const whole = copyJson(object as unknown as JsonObject) as JsonObject;
  compileSchema(objectSchema(kind, kind.versions[kind.version]!)).applyDefaults(whole);
  return withApplied(whole as unknown as KubeObject);
}

export function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export const accountsNamespace = (): KubeObject => namespace(productsNamespace);

export function namespaceRole(product: Product, { name, rules }: ProductNamespace): KubeObject {
  const metadata = { name: accountRoleName(product), namespace: name };
  return { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: rules as unknown as JsonObject[] };
}

export function namespaceRoleBinding(product: Product, { name }: ProductNamespace): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: accountRoleName(product), namespace: name },
    subjects: [{ kind: 'ServiceAccount', namespace: productsNamespace, name: accountName(product) }],
    roleRef: { apiGroup: rbac, kind: 'Role', name: accountRoleName(product) },
  };
}

export function account(product: Product): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accountName(product), namespace: productsNamespace } };
}

/** The rights of a product's account: its own rules, and everything in the view of its export. */
export function accountRole(product: Product): KubeObject {
  const name = exportName(product);
  return role(accountRoleName(product), [
    { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: [name], verbs: ['*'] },
    { apiGroups: ['apis.kcp.io'], resources: ['apiexportendpointslices'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
    ...product.rules,
  ]);
}

export function accountRoleBinding(product: Product): KubeObject {
  return roleBinding(accountRoleName(product), { kind: 'ServiceAccount', namespace: productsNamespace, name: accountName(product) });
}

/** The most that tenants may do, whatever the roles of their workspaces say. */
export function tenantRole(product: Product): KubeObject {
  return role(
    tenantRoleName(product),
    product.tenantRules ?? product.kinds.flatMap((kind) => defaultRules(kind, isCatalog(product, kind))),
  );
}

export function tenantRoleBinding(product: Product): KubeObject {
  return roleBinding(tenantRoleName(product), { kind: 'Group', apiGroup: rbac, name: `${asTenant}system:authenticated` });
}

/** Lets the groups that report the status of objects write it, as far as the roles of the workspace allow it. */
export function reporterRole(product: Product): KubeObject {
  const rules = product.kinds.map(({ group, resource }) => ({
    apiGroups: [group],
    resources: [`${resource}/status`],
    verbs: ['get', 'patch', 'update'],
  }));
  return role(reporterRoleName(product), rules);
}

export function reporterRoleBinding(product: Product): KubeObject {
  const subjects = (product.reporters ?? []).map((group) => ({ kind: 'Group', apiGroup: rbac, name: `${asTenant}${group}` }));
  return roleBinding(reporterRoleName(product), ...subjects);
}

function defaultRules({ group, resource, versions }: KindDefinition, readOnly: boolean): PolicyRule[] {
  const rule = (name: string, verbs: readonly string[]): PolicyRule => ({ apiGroups: [group], resources: [name], verbs });
  if (readOnly) return [rule(resource, ['get', 'list', 'watch'])];
  const all = Object.values(versions);
  return [
    rule(resource, ['*']),
    ...(all.some(({ status }) => status !== undefined) ? [rule(`${resource}/status`, ['get'])] : []),
    ...(all.some(({ scale }) => scale !== undefined) ? [rule(`${resource}/scale`, ['*'])] : []),
  ];
}

function role(name: string, rules: readonly PolicyRule[]): KubeObject {
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules: rules as unknown as JsonObject[] };
}

function roleBinding(name: string, ...subjects: readonly Readonly<Record<string, string>>[]): KubeObject {
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name };
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name }, ...(subjects.length > 0 && { subjects }), roleRef };
}

import {
  type ApiBinding,
  type ApiExport,
  apiBindingKind,
  apiExportKind,
  apiResourceSchemaKind,
  type CachedResource,
  cachedResourceKind,
  endpointSliceKind,
  isTrue,
  type KindDefinition,
  type KindReference,
  type PermissionClaim,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import type { Product } from '../product.ts';
import { exportName } from './names.ts';
import * as objects from './objects.ts';

/** Something that a controller has to do before the installation can go on. */
export class NotYet extends Error {}

/** The actions available to the steps, in root:platform. */
export interface InstallActions {
  /** Creates the object, or changes those of its fields that differ; returns it as the server has it. */
  readonly put: <T extends KubeObject>(kind: KindReference, object: T) => Promise<T>;
  /** Creates the object if there is none of its name. */
  readonly ensure: (kind: KindReference, object: KubeObject) => Promise<unknown>;
  /** Creates the object, or renews those of its fields that nobody has edited. Returns false if root:platform does not serve its kind yet. */
  readonly renew: (kind: KindReference, object: KubeObject) => Promise<boolean>;
  readonly get: <T extends KubeObject>(kind: KindReference, name: string) => Promise<T | undefined>;
}

const core = (resource: string, kind: string, namespaced = false): KindReference => ({
  group: '',
  version: 'v1',
  resource,
  namespaced,
  kind,
});
const rbac = (resource: string, kind: string, namespaced = false): KindReference => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
  namespaced,
  kind,
});

export const namespaceKind = core('namespaces', 'Namespace');
export const serviceAccountKind = core('serviceaccounts', 'ServiceAccount', true);
export const clusterRoleKind = rbac('clusterroles', 'ClusterRole');
export const clusterRoleBindingKind = rbac('clusterrolebindings', 'ClusterRoleBinding');
const roleKind = rbac('roles', 'Role', true);
const roleBindingKind = rbac('rolebindings', 'RoleBinding', true);

/**
 * Installs or upgrades what one product needs in root:platform. Throws `NotYet` while a controller has to work, and the server's error if it refuses
 * an object. `all` are the products of this program, whose kinds it may claim.
 */
export async function installProduct(product: Product, all: readonly Product[], actions: InstallActions): Promise<void> {
  const { put, ensure } = actions;
  for (const schema of objects.schemasOf(product)) await ensure(apiResourceSchemaKind, schema);
  const identities = await publishCatalogs(product, actions);
  const claims = await identifiedClaims(product, all, actions);
  const exported = await put<ApiExport>(apiExportKind, objects.tenantExport(product, { identities, claims }));
  await ensure(endpointSliceKind, objects.endpointSlice(product));
  await ensure(namespaceKind, objects.accountsNamespace());
  await ensure(serviceAccountKind, objects.account(product));
  await put(clusterRoleKind, objects.accountRole(product));
  await put(clusterRoleBindingKind, objects.accountRoleBinding(product));
  for (const namespace of product.namespaces ?? []) {
    await ensure(namespaceKind, objects.namespace(namespace.name));
    await put(roleKind, objects.namespaceRole(product, namespace));
    await put(roleBindingKind, objects.namespaceRoleBinding(product, namespace));
  }
  await put(clusterRoleKind, objects.tenantRole(product));
  await put(clusterRoleBindingKind, objects.tenantRoleBinding(product));
  await put(clusterRoleKind, objects.reporterRole(product));
  await put(clusterRoleBindingKind, objects.reporterRoleBinding(product));
  identityOf(exported);
  if (objects.boundByPlatform(product)?.export === exportName(product)) await bind(exportName(product), claims, actions);
  for (const { kind, object } of product.content?.() ?? [])
    if (!(await actions.renew(kind, objects.ownObject(kind, object))))
      throw new NotYet(`root:platform does not serve ${kind.resource} yet`);
}

/** Stores the catalogs in root:platform and publishes them; returns the identities under which the export refers to them. */
async function publishCatalogs(product: Product, actions: InstallActions): Promise<ReadonlyMap<KindDefinition, string>> {
  const { catalogs = [] } = product;
  const identities = new Map<KindDefinition, string>();
  if (catalogs.length === 0) return identities;
  const { kinds } = objects.boundByPlatform(product)!;
  const exported = await actions.put<ApiExport>(apiExportKind, objects.platformExport(product, kinds));
  identityOf(exported);
  await bind(exported.metadata.name!, [], actions);
  for (const kind of catalogs) {
    const { metadata, status } = await actions.put<CachedResource>(cachedResourceKind, objects.cachedResource(kind) as CachedResource);
    if (!status?.identityHash) throw new NotYet(`CachedResource ${metadata.name} has no identity yet`);
    identities.set(kind, status.identityHash);
  }
  return identities;
}

/** Binds an export in root:platform itself, and waits until it is bound to the current schemas. */
async function bind(name: string, claims: readonly PermissionClaim[], { put }: InstallActions): Promise<void> {
  const { status } = await put<ApiBinding>(apiBindingKind, objects.platformBinding(name, claims));
  if (status?.phase === 'Bound') return;
  const { message } = status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value !== 'True') ?? {};
  throw new NotYet(`APIBinding ${name} is not bound yet${message === undefined ? '' : `: ${message}`}`);
}

/** The claims of a product, with the identities of other products' exports. */
async function identifiedClaims(product: Product, all: readonly Product[], { get }: InstallActions): Promise<readonly PermissionClaim[]> {
  return Promise.all(
    (product.claims ?? []).map(async (claim) => {
      const provider = all.find(({ kinds }) => kinds.some(({ group, resource }) => group === claim.group && resource === claim.resource));
      if (claim.identityHash !== undefined || provider === undefined) return claim;
      const exported = await get<ApiExport>(apiExportKind, exportName(provider));
      if (exported === undefined)
        throw new NotYet(`it claims ${claim.resource} of the product ${provider.name}, which is not installed yet`);
      return { ...claim, identityHash: identityOf(exported) };
    }),
  );
}

function identityOf({ metadata, status }: ApiExport): string {
  if (!status?.identityHash || !isTrue(status.conditions, 'IdentityValid'))
    throw new NotYet(`APIExport ${metadata.name} has no identity yet`);
  return status.identityHash;
}

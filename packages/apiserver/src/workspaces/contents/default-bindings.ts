import { createHash } from 'node:crypto';
import {
  type ApiBinding,
  type ApiExport,
  type ApiResourceSchema,
  bindingFinalizer,
  type ClusterId,
  exportLabel,
  isTrue,
  pathAnnotation,
  rootCluster,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports, exportLabelValue } from '../../bindings/names.ts';
import { referenceOf } from '../../bindings/reference.ts';
import { apiResourceSchemas } from '../kinds/bound-definitions.ts';
import { exportedByRoot } from '../kinds/definitions.ts';
import { apiBindingStatus } from '../root/objects.ts';
import type { Tree } from '../tree.ts';
import type { DefaultBinding } from '../types/workspace-types.ts';
import { born } from './first-objects.ts';
import { appliedClaims, type ReadyExports } from './ready-exports.ts';

/** Names are at most as long as a DNS name may be; the hash and its dash need six characters. */
const longestExportName = 253 - 6;

export interface Workplace {
  readonly cluster: ClusterId;
  readonly path: string;
  readonly now: Date;
  /** The workspace is about to be created: nothing in it can be in the way of a binding. */
  readonly isNew?: boolean;
}

/** How the bindings of a workspace's type stand. */
export interface BindingsState {
  /** To be written: not there, though the exports are. */
  readonly wanted: readonly ApiBinding[];
  /** The bindings that are not bound yet. */
  readonly incomplete: readonly string[];
  /** Exports that are not there. */
  readonly missing: readonly string[];
}

/**
 * Makes the bindings that types ask for. What the root workspace exports is known to every server, so binding it needs nobody's work; neither do
 * other exports in a new workspace, once somebody has bound them before.
 */
export class DefaultBindings {
  readonly #objects: ObjectReader;
  readonly #tree: Tree;
  readonly #platform: ReadonlySet<string>;
  readonly #ready: ReadyExports;

  constructor({ objects, tree, ready }: { objects: ObjectReader; tree: Tree; ready: ReadyExports }) {
    this.#objects = objects;
    this.#tree = tree;
    this.#ready = ready;
    this.#platform = new Set(exportedByRoot().map(({ name }) => name));
  }

  state(bindings: readonly DefaultBinding[], place: Workplace): BindingsState {
    const present = new Map(this.#objects.list(apiBindings, place.cluster).map((binding) => [exportOf(binding), binding]));
    const wanted: ApiBinding[] = [];
    const incomplete: string[] = [];
    const missing: string[] = [];
    const taken = new Set<string>();
    for (const binding of bindings) {
      const text = `${binding.path}|${binding.name}`;
      const existing = present.get(text) ?? this.#make(binding, place, taken);
      if (existing === undefined) {
        missing.push(text);
        continue;
      }
      if (!present.has(text)) wanted.push(existing);
      if (!isBound(existing)) incomplete.push(existing.metadata.name!);
    }
    return { wanted, incomplete: incomplete.sort(), missing };
  }

  /** Undefined when the export is not there. */
  #make(
    { path, name }: DefaultBinding,
    { cluster, path: ownPath, now, isNew = false }: Workplace,
    taken: Set<string>,
  ): ApiBinding | undefined {
    const provider = this.#tree.resolve(path);
    if (provider === undefined) return undefined;
    const exported = this.#objects.get({ ...apiExports, cluster: provider, namespace: '', name });
    if (exported === undefined) return undefined;
    const claims = acceptedClaims(exported);
    const binding = born<ApiBinding>(
      {
        kind: 'APIBinding',
        apiVersion: 'apis.kcp.io/v1alpha2',
        metadata: {
          name: bindingName(cluster, { path, name }),
          generation: 1,
          annotations: { [pathAnnotation]: ownPath },
          // As admission would leave it.
          labels: { [exportLabel]: exportLabelValue(provider, name) },
          finalizers: [bindingFinalizer],
        },
        spec: { reference: { export: { path, name } }, ...(claims.length > 0 && { permissionClaims: claims }) },
      },
      now,
    );
    if (provider === rootCluster && this.#platform.has(name)) {
      for (const { group = '' } of exported.spec?.resources ?? []) taken.add(group);
      return this.#bound(binding, exported, now);
    }
    return isNew ? this.#boundAtOnce(binding, { provider, name, now, taken }) : binding;
  }

  /** The binding as its controller would leave it, if the export is ready and no other binding of the workspace has kinds in the same groups. */
  #boundAtOnce(binding: ApiBinding, of: { provider: ClusterId; name: string; now: Date; taken: Set<string> }): ApiBinding {
    const { provider, name, now, taken } = of;
    const ready = this.#ready.find(provider, name);
    if (ready === undefined || ready.groups.some((group) => taken.has(group))) return binding;
    for (const group of ready.groups) taken.add(group);
    const { boundResources, claims } = ready;
    return {
      ...binding,
      status: {
        ...apiBindingStatus([], '', now),
        apiExportClusterName: provider,
        boundResources,
        exportPermissionClaims: claims,
        appliedPermissionClaims: appliedClaims(binding),
      },
    };
  }

  /** The binding as it will be when it is done; as it is when that cannot be told. */
  #bound(binding: ApiBinding, exported: ApiExport, now: Date): ApiBinding {
    const identity = exported.status?.identityHash ?? '';
    const names = (exported.spec?.resources ?? []).map(({ schema }) => schema);
    const schemas = names.map((name) => this.#objects.get({ ...apiResourceSchemas, cluster: rootCluster, namespace: '', name }));
    if (identity === '' || schemas.includes(undefined)) return binding;
    return { ...binding, status: apiBindingStatus(schemas as ApiResourceSchema[], identity, now) };
  }
}

/** All that an export claims, of the objects that it asks for: of all when it does not say. */
function acceptedClaims({ spec }: ApiExport): NonNullable<NonNullable<ApiBinding['spec']>['permissionClaims']> {
  return (spec?.permissionClaims ?? []).map(({ defaultSelector, ...claim }) => ({
    ...claim,
    selector: defaultSelector ?? { matchAll: true },
    state: 'Accepted',
  }));
}

/** The same for the same workspace and export, so that two who bind make one binding. */
export function bindingName(cluster: ClusterId, { path, name }: DefaultBinding): string {
  const digest = createHash('sha224').update(`${cluster}|${path}|${name}`).digest('hex');
  return `${name.slice(0, longestExportName)}-${BigInt(`0x${digest}`).toString(36).slice(0, 5)}`;
}

function exportOf(binding: ApiBinding): string {
  const { path = '', name = '' } = referenceOf(binding) ?? {};
  return `${path}|${name}`;
}

const isBound = ({ status }: ApiBinding): boolean => isTrue(status?.conditions, 'InitialBindingCompleted');

import { createHash } from 'node:crypto';
import {
  type ApiBinding,
  type ApiExport,
  type ApiResourceSchema,
  bindingFinalizer,
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

/** Names are at most as long as a DNS name may be; the hash and its dash need six characters. */
const longestExportName = 253 - 6;

export interface Workplace {
  readonly cluster: string;
  readonly path: string;
  readonly now: Date;
}

/** How the bindings of a workspace's type stand. */
export interface BindingsState {
  /** To be written: not there, though the exports are. */
  readonly wanted: readonly ApiBinding[];
  /** What is not bound yet. */
  readonly incomplete: readonly string[];
  /** Exports that are not there. */
  readonly missing: readonly string[];
}

/** Makes the bindings that types ask for. What the root workspace exports is known to every server, so binding it needs nobody's work. */
export class DefaultBindings {
  readonly #objects: ObjectReader;
  readonly #tree: Tree;
  readonly #platform: ReadonlySet<string>;

  constructor({ objects, tree }: { objects: ObjectReader; tree: Tree }) {
    this.#objects = objects;
    this.#tree = tree;
    this.#platform = new Set(exportedByRoot().map(({ name }) => name));
  }

  state(bindings: readonly DefaultBinding[], place: Workplace): BindingsState {
    const present = new Map(this.#objects.list(apiBindings, place.cluster).map((binding) => [exportOf(binding), binding]));
    const wanted: ApiBinding[] = [];
    const incomplete: string[] = [];
    const missing: string[] = [];
    for (const binding of bindings) {
      const text = `${binding.path}|${binding.name}`;
      const existing = present.get(text) ?? this.#make(binding, place);
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
  #make({ path, name }: DefaultBinding, { cluster, path: ownPath, now }: Workplace): ApiBinding | undefined {
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
    return provider === rootCluster && this.#platform.has(name) ? this.#bound(binding, exported, now) : binding;
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
export function bindingName(cluster: string, { path, name }: DefaultBinding): string {
  const digest = createHash('sha224').update(`${cluster}|${path}|${name}`).digest('hex');
  return `${name.slice(0, longestExportName)}-${BigInt(`0x${digest}`).toString(36).slice(0, 5)}`;
}

function exportOf(binding: ApiBinding): string {
  const { path = '', name = '' } = referenceOf(binding) ?? {};
  return `${path}|${name}`;
}

const isBound = ({ status }: ApiBinding): boolean => isTrue(status?.conditions, 'InitialBindingCompleted');

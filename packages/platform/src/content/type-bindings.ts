import { platformWorkspace, type WorkspaceType } from '@capstan/api';
import { sameJson } from '@capstan/machinery';
import type { Product } from '../product.ts';
import { exportName } from './names.ts';

/** On a WorkspaceType: the exports that products put into its default bindings. Bindings that its owner added or removed are not touched. */
export const productBindingsAnnotation = 'capstan.dev/product-bindings';

/** The types that bind products. */
export const bindingTypes = ['project', 'home'] as const;

type Binding = NonNullable<NonNullable<WorkspaceType['spec']>['defaultAPIBindings']>[number];

/**
 * The type with the bindings of these products; undefined if nothing changes. A product that is not installed gets no binding, since new workspaces would
 * wait for it; one that was bound before stays so while its upgrade fails.
 */
export function withProducts(
  type: WorkspaceType,
  products: readonly Product[],
  isInstalled: (product: Product) => boolean,
): WorkspaceType | undefined {
  const { name, annotations = {} } = type.metadata;
  const before = new Set((annotations[productBindingsAnnotation] ?? '').split(',').filter((text) => text !== ''));
  const wanted = products
    .filter((product) => product.boundBy.some((binder) => binder === name) && (isInstalled(product) || before.has(exportName(product))))
    .map(exportName);
  const bindings = (type.spec?.defaultAPIBindings ?? []).filter(
    (one) => !isOurs(one) || !before.has(one.export) || wanted.includes(one.export),
  );
  const added = wanted.filter((one) => !before.has(one) && !bindings.some((other) => isOurs(other) && other.export === one));
  const next = [...bindings, ...added.map((one) => ({ path: platformWorkspace, export: one }))];
  const text = wanted.join(',');
  if (text === (annotations[productBindingsAnnotation] ?? '') && sameJson(next, type.spec?.defaultAPIBindings ?? [])) return undefined;
  return {
    ...type,
    metadata: { ...type.metadata, annotations: { ...annotations, [productBindingsAnnotation]: text } },
    spec: { ...type.spec, defaultAPIBindings: next },
  };
}

const isOurs = ({ path }: Binding): boolean => path === platformWorkspace;

import type { WorkspaceType } from '@capstan/api';
import type { Product } from '../product.ts';
import { type InstallActions, installProduct, NotYet } from './install.ts';
import { bindingTypes, withProducts } from './type-bindings.ts';

/** How far a product is installed. `Waiting` ends without anybody's help, `Failed` does not. */
export interface ProductState {
  readonly state: 'Installed' | 'Waiting' | 'Failed';
  readonly message?: string;
}

export type ProductStates = ReadonlyMap<string, ProductState>;

export interface ContentActions {
  /** Whether root:platform exists and is ready. */
  readonly isReady: () => Promise<boolean>;
  readonly platform: InstallActions;
  readonly getType: (name: string) => Promise<WorkspaceType | undefined>;
  readonly updateType: (type: WorkspaceType) => Promise<unknown>;
  /** Publishes the states in root:platform. */
  readonly report: (states: ProductStates) => Promise<unknown>;
}

/** Installs every product, then lets the types bind those that are installed. One that fails does not keep the others. */
export async function reconcileContent(products: readonly Product[], actions: ContentActions): Promise<ProductStates> {
  if (!(await actions.isReady())) return new Map(products.map(({ name }) => [name, waiting('root:platform does not exist yet')]));
  const states = new Map<string, ProductState>();
  for (const product of products) states.set(product.name, await stateOf(() => installProduct(product, products, actions.platform)));
  for (const name of bindingTypes) await bindProducts(name, products, { states, actions });
  await actions.report(states);
  return states;
}

async function bindProducts(
  name: string,
  products: readonly Product[],
  { states, actions }: { readonly states: Map<string, ProductState>; readonly actions: ContentActions },
): Promise<void> {
  // An owner who deleted the type wants no workspaces of it.
  const type = await actions.getType(name);
  const changed = type && withProducts(type, products, (product) => states.get(product.name)?.state === 'Installed');
  if (changed === undefined) return;
  const outcome = await stateOf(() => actions.updateType(changed));
  if (outcome.state === 'Installed') return;
  const message = `the type ${name} does not bind it: ${outcome.message ?? ''}`;
  for (const { name: product, boundBy } of products)
    if (boundBy.some((binder) => binder === name)) states.set(product, { state: outcome.state, message });
}

async function stateOf(work: () => Promise<unknown>): Promise<ProductState> {
  try {
    await work();
    return { state: 'Installed' };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof NotYet ? waiting(message) : { state: 'Failed', message };
  }
}

const waiting = (message: string): ProductState => ({ state: 'Waiting', message });

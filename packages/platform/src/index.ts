export { type ContentOptions, platformContent } from './content/controller.ts';
export { accountName, exportName, productsNamespace } from './content/names.ts';
export type { ProductState, ProductStates } from './content/reconcile.ts';
export type { Binder, Endpoints, PolicyRule, Product, ProductController } from './product.ts';

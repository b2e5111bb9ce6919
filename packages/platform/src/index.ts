export { type ContentOptions, platformContent } from './content/controller.ts';
export { accountName, exportName, productsNamespace } from './content/names.ts';
export type { ProductState, ProductStates } from './content/reconcile.ts';
export { type PlatformManager, type PlatformOptions, platformLease, platformManager } from './process/manager.ts';
export { reportRejections } from './process/rejections.ts';
export type { Binder, PolicyRule, Product, ProductController, ProductNamespace, ProductObject, ProductPlaces } from './product.ts';

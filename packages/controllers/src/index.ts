export { GarbageCollector } from './garbage/controller.ts';
export { type NamespaceDefaultsOptions, namespaceDefaultsController } from './namespace-defaults/controller.ts';
export { namespaceController } from './namespaces/controller.ts';

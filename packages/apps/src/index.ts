export type * from './adapter/contract.ts';
export { AdapterProblem } from './adapter/contract.ts';
export type { AdapterRegistration, NewApp } from './adapter/registration.ts';
export { builtInAdapters } from './adapters/built-in.ts';
export { apps, appsProduct } from './product.ts';

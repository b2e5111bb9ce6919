export type * from './adapter/contract.ts';
export { AdapterProblem } from './adapter/contract.ts';

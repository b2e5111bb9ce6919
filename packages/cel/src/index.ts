export { COST_PER_DEFINITION, COST_PER_OBJECT, COST_PER_RULE, overBudgetMessage } from './cost/budget.ts';
export type { Range as CostRange } from './cost/range.ts';
export type { CompileError } from './errors.ts';
export { leaveAttempt } from './evaluate/attempt.ts';
export { LazyFields } from './evaluate/lazy.ts';
export type { Task } from './evaluate/task.ts';
export {
  AUTHORIZER,
  type AuthorizationAnswer,
  type AuthorizationQuestion,
  type Authorizer,
  AuthorizerValue,
  RESOURCE_CHECK,
  ResourceCheck,
  type ResourceQuestion,
} from './library/authorizer.ts';
export { QUANTITY } from './library/quantity.ts';
export {
  type Binding,
  COST_PER_CALL,
  type Compilation,
  type CompileOptions,
  compile,
  type EvaluateOptions,
  type Outcome,
  Program,
  STEPS_PER_CALL,
} from './program.ts';
export type { Declaration } from './types/declaration.ts';
export * as declare from './types/declare.ts';
export { escapeProperty } from './types/escape.ts';
export { declarationOfSchema, type SchemaOptions, type StructuralSchema } from './types/schema.ts';
export { type Type, typeDepth } from './types/type.ts';
export { elementsOf } from './value/collections.ts';
export { goTypeOf } from './value/go-type.ts';
export { type Exotic, toJson } from './value/plain.ts';
export { StructValue } from './value/struct.ts';
export { misplacedTypes } from './value/type-paths.ts';
export { CelError, Duration, ListValue, Timestamp, Uint, type Value } from './value/value.ts';

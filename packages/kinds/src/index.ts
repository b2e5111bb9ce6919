export type { Known } from './admissionregistration/expressions/declarations.ts';
export {
  annotation,
  anything,
  type CompiledExpression,
  compileExpression,
  compilePatch,
  condition,
  message,
  type PatchType,
} from './admissionregistration/expressions/expression.ts';
export { typedDeclaration } from './admissionregistration/expressions/typed.ts';
export { Held, Variables } from './admissionregistration/expressions/variables.ts';
export { type ApprovalState, approvalOf, isProtected } from './apiextensions/approval.ts';
export { bundleProblem, conversionBundle } from './apiextensions/ca-bundle.ts';
export { rulesOf } from './apiextensions/rules/checker.ts';
export { ruleErrors } from './apiextensions/rules/errors.ts';
export type { RuleChecker, RuleCompiler } from './apiextensions/rules/rules.ts';
export { cleanupFinalizer } from './apiextensions/strategies.ts';
export { definitionErrors } from './apiextensions/validation.ts';
export { horizontalPodAutoscalerToV1, horizontalPodAutoscalerToV2 } from './autoscaling/autoscaling-versions.ts';
export { lastingNamespaces } from './core/strategies.ts';
export { deprecations } from './deprecations.ts';
export { toCoreEvent, toEventsEvent } from './events/event.ts';
export { systemPriorities } from './policy/policy.ts';
export { scalePrinter } from './printers/autoscaling.ts';
export { defaultPrinter, printers } from './printers/printers.ts';
export type { ObjectKey, ObjectReader } from './reader.ts';
export { addressRange } from './services/service-allocation.ts';
export { made } from './shared/defaulting.ts';
export { Findings } from './shared/findings.ts';
export { type ScaleMapping, scaleMappings } from './shared/scale.ts';
export { strategies } from './strategies.ts';
export type { Column, Strategy, StrategyContext, TablePrinter, ValidatedChange } from './strategy.ts';
export { contextOf } from './testing/context.ts';
export { dropUnserved } from './unserved-fields.ts';
export { type UpdateRound, updateRounds, usualRounds } from './update-rounds.ts';
export { workloadStrategies } from './workloads.ts';

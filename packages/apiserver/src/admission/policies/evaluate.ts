import type { Parts } from '@capstan/machinery';
import { meets } from '../expressions/conditions.ts';
import { type Bindings, costOfConditions, costOfValidations, type Evaluated, Evaluation, OutOfBudget } from '../expressions/evaluation.ts';
import type { Policy, Validation } from './policy.ts';

/** A failed validation of a policy. */
export interface Finding {
  readonly message: string;
  readonly reason: string;
  /** The index of the validation. */
  readonly index: number;
}

export interface Findings {
  readonly failures: readonly Finding[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Errors of audit annotations. */
  readonly annotationErrors: readonly string[];
}

const nothing: Findings = { failures: [], annotations: [], annotationErrors: [] };
const longestMessage = 5 * 1024;
/** Nobody reads more of them. */
const mostFailures = 100;

/** Evaluates a policy for one request and one parameter object, in parts. Errors in expressions are handled by the failure policy. */
export function* evaluatePolicy(policy: Policy, bindings: Bindings): Parts<Findings> {
  if (policy.conditions.length > 0) {
    const result = yield* meets(policy.conditions, new Evaluation(bindings, policy.variables, costOfConditions));
    if (result.error !== undefined) return mistake(policy, result.error);
    if (!result.met) return nothing;
    yield;
  }
  try {
    const evaluation = new Evaluation(bindings, policy.variables, costOfValidations);
    const failures: Finding[] = [];
    for (const [index, validation] of policy.validations.entries()) {
      const result = evaluation.attempt(validation.check) ?? (yield* evaluation.inParts(validation.check));
      const finding = result.value === true ? undefined : yield* findingOf(result, policy, { validation, evaluation, index });
      if (finding !== undefined && failures.length < mostFailures) failures.push(finding);
      if (evaluation.endsPart()) yield;
    }
    return { failures, ...(yield* annotate(policy, bindings)) };
  } catch (error) {
    if (error instanceof OutOfBudget) return mistake(policy, error.message);
    throw error;
  }
}

/** An error in an expression has no reason of its own, so it makes the request Invalid. */
function mistake({ failurePolicy }: Policy, message: string): Findings {
  return failurePolicy === 'Ignore' ? nothing : { ...nothing, failures: [{ message, reason: 'Invalid', index: 0 }] };
}

function* findingOf(
  result: Evaluated,
  { failurePolicy }: Policy,
  { validation, evaluation, index }: { validation: Validation; evaluation: Evaluation; index: number },
): Parts<Finding | undefined> {
  if (result.error !== undefined) return failurePolicy === 'Ignore' ? undefined : { message: result.error, reason: 'Invalid', index };
  return { message: yield* messageOf(validation, evaluation), reason: validation.reason, index };
}

function* messageOf({ message, messageExpression, check: { source } }: Validation, evaluation: Evaluation): Parts<string> {
  const computed = messageExpression === undefined ? undefined : (yield* evaluation.evaluate(messageExpression)).value;
  const text = typeof computed === 'string' ? computed.trim() : '';
  if (text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= longestMessage) return text;
  return message || `failed expression: ${source.trim()}`;
}

function* annotate(policy: Policy, bindings: Bindings): Parts<Pick<Findings, 'annotations' | 'annotationErrors'>> {
  const annotations: { key: string; value: string }[] = [];
  const annotationErrors: string[] = [];
  if (policy.auditAnnotations.length === 0) return { annotations, annotationErrors };
  const evaluation = new Evaluation(bindings, policy.variables, costOfValidations);
  for (const { key, value } of policy.auditAnnotations) {
    const result = yield* evaluation.evaluate(value);
    if (evaluation.endsPart()) yield;
    if (result.error !== undefined) {
      if (policy.failurePolicy === 'Fail') annotationErrors.push(result.error);
    } else if (typeof result.value === 'string' && result.value.trim() !== '') {
      annotations.push({ key, value: result.value.trim() });
    }
  }
  return { annotations, annotationErrors };
}

import type { Known } from '@capstan/kinds';
import { annotation, type CompiledExpression, compileExpression, condition, message, Variables } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, maybeFields, textOf, textsOf } from '@capstan/machinery';
import type { Evaluated } from '../../registry/quarantine.ts';
import { conditionsOf } from '../expressions/conditions.ts';
import { type Criteria, criteriaOf } from '../matching/match.ts';

export interface Validation {
  readonly check: CompiledExpression;
  readonly message: string;
  readonly messageExpression: CompiledExpression | undefined;
  readonly reason: string;
}

export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The common part of validating and mutating policies. */
export interface AnyPolicy {
  readonly name: string;
  /** For the quarantine. */
  readonly evaluated: Evaluated;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly criteria: Criteria;
  readonly paramKind: ParamKind | undefined;
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly conditions: readonly CompiledExpression[];
}

/** A ValidatingAdmissionPolicy, compiled. */
export interface Policy extends AnyPolicy {
  readonly validations: readonly Validation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly value: CompiledExpression }[];
}

/** Compiles the common part of validating and mutating policies, and declares the variables for their own expressions. */
export function commonOf(
  { kind, metadata }: KubeObject,
  spec: Readonly<Fields>,
): { common: AnyPolicy; variables: Variables; known: Known } {
  const paramKind = paramKindOf(spec);
  const known: Known = { params: paramKind !== undefined, authorizer: true };
  const variables = Variables.of(itemsOf(spec['variables']), known);
  const common: AnyPolicy = {
    name: metadata.name ?? '',
    evaluated: evaluatedPolicy({ kind, metadata }),
    failurePolicy: spec['failurePolicy'] === 'Ignore' ? 'Ignore' : 'Fail',
    criteria: criteriaOf(fieldsOf(spec['matchConstraints'])),
    paramKind,
    variables: variables.compiled,
    conditions: conditionsOf(spec['matchConditions'], variables),
  };
  return { common, variables, known };
}

/** A policy in its current generation. */
export function evaluatedPolicy({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): Evaluated {
  return { identity: `policy ${metadata.uid} ${metadata.generation}`, name: `${kind} ${JSON.stringify(metadata.name)}` };
}

export function policyOf(object: KubeObject): Policy {
  const spec = fieldsOf(object['spec']);
  const { common, variables, known } = commonOf(object, spec);
  const declarations = variables.declarations();
  const withoutAuthorizer = variables.declarations({ ...known, authorizer: false });
  return {
    ...common,
    validations: itemsOf(spec['validations']).map((validation) => ({
      check: compileExpression(textOf(validation['expression']), declarations, condition),
      message: textOf(validation['message']).trim(),
      messageExpression: messageOf(validation, withoutAuthorizer),
      reason: textOf(validation['reason']) || 'Invalid',
    })),
    auditAnnotations: itemsOf(spec['auditAnnotations']).map((item) => ({
      key: textOf(item['key']),
      value: compileExpression(textOf(item['valueExpression']), declarations, annotation),
    })),
  };
}

export function paramKindOf(spec: Readonly<Fields>): ParamKind | undefined {
  const kind = maybeFields(spec['paramKind']);
  return kind && { apiVersion: textOf(kind['apiVersion']), kind: textOf(kind['kind']) };
}

function messageOf(validation: Fields, declarations: ReturnType<Variables['declarations']>): CompiledExpression | undefined {
  const text = textOf(validation['messageExpression']);
  return text === '' ? undefined : compileExpression(text, declarations, message);
}

/** A binding of a validating or mutating policy, parsed. */
export interface PolicyBinding {
  readonly name: string;
  readonly policyName: string;
  /** Undefined if it applies wherever the policy does. */
  readonly criteria: Criteria | undefined;
  readonly paramRef: Readonly<Fields> | undefined;
  /** The validation actions; empty for mutating policies. */
  readonly actions: readonly string[];
}

export function bindingOf(object: KubeObject): PolicyBinding {
  const spec = fieldsOf(object['spec']);
  const match = maybeFields(spec['matchResources']);
  return {
    name: object.metadata.name ?? '',
    policyName: textOf(spec['policyName']),
    criteria: match && criteriaOf(match),
    paramRef: maybeFields(spec['paramRef']),
    actions: textsOf(spec['validationActions']),
  };
}

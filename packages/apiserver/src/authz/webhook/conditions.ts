import { type CompileOptions, compile, declare, type Program } from '@capstan/cel';
import { type JsonObject, status } from '@capstan/machinery';

const { string, list, map, object } = declare;

const requirement = (name: string) => object(name, { key: string, operator: string, values: list(string) });
const selector = (name: string) =>
  object(name, { rawSelector: string, requirements: list(requirement(`${name.replace('Attributes', '')}Requirement`)) });

/** The type of `request` in expressions. */
const spec = object('kubernetes.SubjectAccessReviewSpec', {
  resourceAttributes: object('kubernetes.ResourceAttributes', {
    namespace: string,
    verb: string,
    group: string,
    version: string,
    resource: string,
    subresource: string,
    name: string,
    fieldSelector: selector('kubernetes.FieldSelectorAttributes'),
    labelSelector: selector('kubernetes.LabelSelectorAttributes'),
  }),
  nonResourceAttributes: object('kubernetes.NonResourceAttributes', { path: string, verb: string }),
  user: string,
  groups: list(string),
  extra: map(list(string)),
  uid: string,
});

const options: CompileOptions = { variables: new Map([['request', spec]]) };

/** Decides whether a webhook is called for a request. */
export type Condition = Program;

/** Throws an error that explains why the expression is invalid. */
export function compileCondition(source: string): Condition {
  const { program, message } = compile(source, options);
  if (program === undefined) throw new TypeError(`compilation failed: ${message}`);
  if (program.typeName !== 'bool') throw new TypeError(`must evaluate to bool but got ${program.typeName}`);
  return program;
}

/** A condition that is false decides, whatever the others return. An error in a condition counts only if none is false. */
export function holds(conditions: readonly Condition[], request: JsonObject): boolean | { readonly error: string } {
  const errors: string[] = [];
  for (const condition of conditions) {
    const outcome = condition.evaluate({ request });
    if (outcome.error !== undefined) errors.push(`cel evaluation error: ${outcome.error}`);
    else if (outcome.value !== true) return false;
  }
  return errors.length === 0 ? true : { error: status.aggregate(errors) };
}

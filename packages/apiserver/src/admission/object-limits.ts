import {
  endsPart,
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  itemsOf,
  type KubeObject,
  type Parts,
  status,
  textOf,
  textsOf,
} from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../registry/admission.ts';

/** How large the objects may be that the server compiles. Kubernetes has no such limits. */
export interface ObjectLimits {
  /** Expressions of a policy, conditions of a webhook configuration, variables included, rules of a conversion, or rules and mappings of issuers. */
  readonly expressions: number;
  /** Characters of all expressions of a policy, a webhook configuration, a definition, a conversion, issuers or a claim of devices together. */
  readonly expressionCharacters: number;
  /** Webhooks of a configuration. */
  readonly webhooks: number;
  /** Schemas within the schemas of a definition, in all versions together: each property is one. */
  readonly schemas: number;
}

export const usualObjectLimits: ObjectLimits = { expressions: 1000, expressionCharacters: 256 * 1024, webhooks: 250, schemas: 50_000 };

/**
 * Rejects objects that would take too long to compile, before anything of them is compiled. An object that is over a limit already may
 * be changed, but not grow.
 */
export function objectLimits(given: Partial<ObjectLimits> = {}): AdmissionPlugin {
  const limits: ObjectLimits = { ...usualObjectLimits, ...given };
  return {
    name: 'ObjectLimits',
    mutate(request) {
      const { resource, object, operation, subresource } = request;
      const measure = measures.get(`${resource.group}/${resource.resource}`);
      if (measure === undefined || object === undefined || operation === 'DELETE' || subresource !== '') return;
      return request.context.pace().run(check(request, limits, measure));
    },
  };
}

function refusal({ resource, object, name }: AdmissionRequest, errors: readonly FieldError[]): Error {
  return status.invalidObject({ group: resource.group, kind: resource.kind }, object?.metadata.name ?? name, errors);
}

/** The things that were counted, and where they are. */
interface Amount {
  readonly count: number;
  readonly at: FieldPath;
}

type Amounts = Readonly<Partial<Record<keyof ObjectLimits, Amount>>>;

function excess(amounts: Amounts, before: Amounts | undefined, limits: ObjectLimits): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(amounts) as (keyof ObjectLimits)[]) {
    const { count, at } = amounts[name]!;
    if (count <= limits[name] || count <= (before?.[name]?.count ?? 0)) continue;
    errors.push(fieldError.forbidden(at, `has ${count} ${words[name]}, the limit is ${limits[name]}`));
  }
  return errors;
}

const words: Readonly<Record<keyof ObjectLimits, string>> = {
  expressions: 'expressions',
  expressionCharacters: 'characters in expressions',
  webhooks: 'webhooks',
  schemas: 'properties and other schemas',
};

/** Counts what is limited in an object. */
type Measure = (object: KubeObject) => Parts<Amounts>;

function* check(request: AdmissionRequest, limits: ObjectLimits, measure: Measure): Parts<void> {
  const { object, old } = request;
  const amounts = yield* measure(object!);
  const errors = excess(amounts, old === undefined ? undefined : yield* measure(old), limits);
  if (errors.length > 0) throw refusal(request, errors);
}

const spec = FieldPath.of('spec');

const expressionLists = ['variables', 'validations', 'auditAnnotations', 'mutations', 'matchConditions'];
const expressionFields = ['expression', 'messageExpression', 'valueExpression'];

function* policyAmounts(object: KubeObject): Parts<Amounts> {
  const fields = fieldsOf(object['spec']);
  let expressions = 0;
  let characters = 0;
  for (const list of expressionLists) {
    const items = itemsOf(fields[list]);
    expressions += items.length;
    for (const item of items) {
      if (endsPart()) yield;
      characters += lengthOf(item);
      for (const patch of ['applyConfiguration', 'jsonPatch']) characters += lengthOf(fieldsOf(item[patch]));
    }
  }
  return { expressions: { count: expressions, at: spec }, expressionCharacters: { count: characters, at: spec } };
}

function lengthOf(item: Readonly<Record<string, unknown>>): number {
  let length = 0;
  for (const field of expressionFields) length += textOf(item[field]).length;
  return length;
}

function* webhookAmounts(object: KubeObject): Parts<Amounts> {
  const webhooks = itemsOf(object['webhooks']);
  let expressions = 0;
  let characters = 0;
  for (const webhook of webhooks) {
    for (const condition of itemsOf(webhook['matchConditions'])) {
      if (endsPart()) yield;
      expressions++;
      characters += lengthOf(condition);
    }
  }
  const at = FieldPath.of('webhooks');
  return {
    webhooks: { count: webhooks.length, at },
    expressions: { count: expressions, at },
    expressionCharacters: { count: characters, at },
  };
}

/** Selectors of devices, wherever they are. */
function* deviceAmounts(object: KubeObject): Parts<Amounts> {
  const counted = { objects: 0, characters: 0 };
  yield* countInside(object['spec'], counted, deviceFields);
  return { expressionCharacters: { count: counted.characters, at: spec } };
}

/** Definitions, and the schemas that exports publish. */
function* schemaAmounts(object: KubeObject): Parts<Amounts> {
  const fields = fieldsOf(object['spec']);
  const counted = { objects: 0, characters: 0 };
  for (const version of itemsOf(fields['versions'])) yield* countInside(version['schema'], counted, ruleFields);
  return {
    schemas: { count: counted.objects, at: spec.child('versions') },
    expressionCharacters: { count: counted.characters, at: spec.child('versions') },
  };
}

const ruleFields: ReadonlySet<string> = new Set(['rule', 'messageExpression']);
const deviceFields: ReadonlySet<string> = new Set(['expression']);
const issuerFields: ReadonlySet<string> = new Set(['expression', 'valueExpression']);
const conversionFields = ['field', 'destination', 'transformation'];

/** Rules without an expression count too: each is looked at for every object. */
function* conversionAmounts(object: KubeObject): Parts<Amounts> {
  let count = 0;
  let characters = 0;
  for (const { rules, preserve } of itemsOf(fieldsOf(object['spec'])['conversions'])) {
    for (const rule of itemsOf(rules)) {
      if (endsPart()) yield;
      count++;
      for (const field of conversionFields) characters += textOf(rule[field]).length;
    }
    for (const field of textsOf(preserve)) {
      if (endsPart()) yield;
      count++;
      characters += textOf(field).length;
    }
  }
  const at = spec.child('conversions');
  return { expressions: { count, at }, expressionCharacters: { count: characters, at } };
}

/** Each issuer counts as one, because it maps a claim to a name. */
function* issuerAmounts(object: KubeObject): Parts<Amounts> {
  const issuers = itemsOf(fieldsOf(object['spec'])['jwt']);
  const at = spec.child('jwt');
  let count = issuers.length;
  for (const issuer of issuers)
    count += itemsOf(issuer['claimValidationRules']).length + itemsOf(fieldsOf(issuer['claimMappings'])['extra']).length;
  const counted = { objects: 0, characters: 0 };
  for (const issuer of issuers) yield* countInside(issuer, counted, issuerFields);
  return { expressions: { count, at }, expressionCharacters: { count: counted.characters, at } };
}

/** Counts every object inside: almost all in a schema are schemas, and the others take as long to read. */
function* countInside(root: unknown, counted: { objects: number; characters: number }, expressions: ReadonlySet<string>): Parts<void> {
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) counted.objects++;
    for (const key in next) {
      if (endsPart()) yield;
      const value = (next as Fields)[key];
      if (typeof value === 'string' && expressions.has(key)) counted.characters += value.length;
      else if (typeof value === 'object' && value !== null) open.push(value);
    }
  }
}

const measures: ReadonlyMap<string, Measure> = new Map([
  ['admissionregistration.k8s.io/validatingadmissionpolicies', policyAmounts],
  ['admissionregistration.k8s.io/mutatingadmissionpolicies', policyAmounts],
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', webhookAmounts],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', webhookAmounts],
  ['apiextensions.k8s.io/customresourcedefinitions', schemaAmounts],
  ['apis.kcp.io/apiresourceschemas', schemaAmounts],
  ['apis.kcp.io/apiconversions', conversionAmounts],
  ['tenancy.kcp.io/workspaceauthenticationconfigurations', issuerAmounts],
  ['resource.k8s.io/resourceclaims', deviceAmounts],
  ['resource.k8s.io/resourceclaimtemplates', deviceAmounts],
  ['resource.k8s.io/deviceclasses', deviceAmounts],
]);

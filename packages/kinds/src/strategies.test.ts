import { readFileSync } from 'node:fs';
import { rootCluster } from '@capstan/api';
import {
  builtinResources,
  type FieldError,
  type KubeObject,
  names,
  validateMetaChange,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { strategies } from './strategies.ts';
import type { Strategy, StrategyContext } from './strategy.ts';
import { errorsOf } from './testing/context.ts';

/** A response of kube-apiserver 1.34 to a create or, if there is an old object, an update. */
interface Recorded {
  readonly resource: string;
  readonly subresource?: string;
  readonly old?: KubeObject;
  readonly given: KubeObject;
  /** All errors, sorted and without duplicates. */
  readonly causes?: readonly string[];
  /** The resulting object without empty fields. */
  readonly answer?: KubeObject;
  readonly warning?: string;
}

const recorded = readFileSync(new URL('recorded/answers.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

const namespaced = new Map(builtinResources().map((info) => [`${info.group}/${info.resource}`, info.namespaced]));

interface Outcome {
  readonly errors: FieldError[];
  readonly object: KubeObject;
  readonly warnings: string[];
}

/** Calls a strategy's functions in the same order as the registry. */
function run({ resource, subresource, given, old }: Recorded): Outcome {
  const strategy = strategies.get(resource)!;
  const warnings: string[] = [];
  const context: StrategyContext = {
    cluster: rootCluster,
    user: { name: 'admin', groups: ['system:masters', 'system:authenticated'] },
    now: () => new Date('2026-01-01T00:00:00Z'),
    objects: { get: () => undefined, list: () => [], generation: () => 0 },
    warn: (message) => void warnings.push(message),
  };
  const object = structuredClone(given);
  const scope = { namespaced: namespaced.get(resource)! };
  if (scope.namespaced) object.metadata.namespace ??= 'sel-lab';
  strategy.default?.(object);
  const errors: FieldError[] = [];
  if (old === undefined) {
    strategy.prepareForCreate?.(object, context);
    errors.push(...validateObjectMeta(object.metadata, { ...scope, validateName: strategy.validateName ?? names.dns1123Subdomain }));
    errors.push(...errorsOf(strategy, object, context), ...(strategy.validateCreate?.(object, context) ?? []));
  } else {
    const rules = rulesOf(strategy, subresource);
    rules.prepareForUpdate?.(object, old, context);
    errors.push(
      ...validateObjectMetaUpdate(object.metadata, old.metadata, scope),
      ...validateMetaChange(object.metadata, old.metadata, scope),
    );
    errors.push(...errorsOf(rules, object, context), ...(rules.validateUpdate?.(object, old, context) ?? []));
  }
  strategy.canonicalize?.(object);
  return { errors, object, warnings };
}

type ChangeRules = Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateObjectInParts' | 'validateUpdate'>;

function rulesOf(strategy: Strategy, subresource: string | undefined): ChangeRules {
  if (subresource === undefined) return strategy;
  return (subresource === 'status' ? strategy.status : strategy.subresources?.[subresource]) ?? {};
}

/** Kinds whose status a controller of kube-apiserver writes a moment later; here, the answer has it already. */
const statusAtOnce = new Set(['apiregistration.k8s.io/apiservices']);

const serverOwned = new Set(['uid', 'creationTimestamp', 'resourceVersion', 'generation']);

/** Removes empty fields and those the registry sets, the form in which answers were recorded. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([name]) => !serverOwned.has(name))
    .map(([name, part]) => [name, compact(part)] as const)
    .filter(([, part]) => part && (typeof part !== 'object' || Object.keys(part).length > 0));
  return Object.fromEntries(entries);
}

describe.each([...new Set(recorded.map(({ resource }) => resource))])('%s responds like kube-apiserver', (resource) => {
  const cases = recorded.filter((each) => each.resource === resource);

  it.each(
    cases.map(
      (each, index) => [each.old === undefined ? 'to a new object' : `to a changed ${each.subresource ?? 'object'}`, index, each] as const,
    ),
  )('%s (%i)', (_what, _index, each) => {
    const { errors, object, warnings } = run(each);
    const causes = [...new Set(errors.map(({ field, body }) => `${field}: ${body}`))].sort();
    expect(causes).toEqual(each.causes ?? []);
    if (each.answer !== undefined && each.answer['status'] === undefined && statusAtOnce.has(resource)) delete object['status'];
    if (each.answer !== undefined) expect(compact(object)).toEqual(compact(each.answer));
    if (each.warning !== undefined) expect(each.warning).toBe(warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', '));
  });
});

describe('a kind with selectable fields', () => {
  const selecting = [...strategies].filter(
    ([, strategy]) => strategy.selectableFields !== undefined || strategy.selectableLabels !== undefined,
  );

  it.each(selecting)('%s declares exactly the fields that it returns', (_resource, strategy) => {
    const fields = strategy.selectableFields!({ apiVersion: '', kind: '', metadata: {} });
    expect(new Set(strategy.selectableLabels)).toEqual(new Set(Object.keys(fields)));
  });
});

describe('every strategy', () => {
  it.each([...strategies])('%s belongs to a built-in resource and handles an empty object', (resource, strategy) => {
    expect(namespaced.has(resource)).toBe(true);
    const bare: Recorded = { resource, given: { apiVersion: '', kind: '', metadata: { name: 'x', uid: 'u' } } };
    expect(() => run(bare)).not.toThrow();
    if (strategy.status !== undefined) expect(() => run({ ...bare, old: bare.given, subresource: 'status' })).not.toThrow();
    expect(() => run({ ...bare, old: bare.given })).not.toThrow();
  });
});

import { type KindDefinition, objectSchema } from '@capstan/api';
import { compile, declarationOfSchema, type Program, type StructuralSchema, toJson } from '@capstan/cel';
import type { Json, KubeObject } from '@capstan/machinery';
import type { QuotaAmount } from './limits.ts';

/**
 * Measures the objects of a kind by what its definition says. The expressions are compiled when the first object is measured, and each object is measured once: schedulers ask for all of
 * them in every pass. Throws if the definition is wrong, and for objects that are not of the kind.
 */
export function measuring(kind: KindDefinition): (object: KubeObject) => QuotaAmount {
  let programs: readonly (readonly [name: string, program: Program])[] | undefined;
  const known = new WeakMap<KubeObject, QuotaAmount>();
  const measure = (object: KubeObject): QuotaAmount => {
    programs ??= kind.measures.flatMap(({ name, amount }) => (amount === undefined ? [] : [[name, programOf(kind, amount)] as const]));
    return Object.fromEntries(programs.map(([name, program]) => [name, amountOf(program, object, `${kind.kind}, ${name}`)]));
  };
  return (object) => {
    let amount = known.get(object);
    if (amount === undefined) known.set(object, (amount = measure(object)));
    return amount;
  };
}

function programOf(kind: KindDefinition, amount: string): Program {
  const self = declarationOfSchema(objectSchema(kind, kind.versions[kind.version]!) as StructuralSchema, { isResourceRoot: true })!;
  const { program, message } = compile(amount, { variables: new Map([['self', self]]), isStored: true });
  if (program === undefined) throw new Error(`${kind.kind}: the amount ${JSON.stringify(amount)} is wrong: ${message}`);
  return program;
}

function amountOf(program: Program, object: KubeObject, what: string): number {
  const { value, error } = program.evaluate({ self: object as unknown as Json });
  if (error !== undefined) throw new Error(`${what}: ${error}`);
  const amount = toJson(value);
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount) || amount < 0)
    throw new Error(`${what}: expected a whole number that is not negative, found ${JSON.stringify(amount)}`);
  return amount;
}

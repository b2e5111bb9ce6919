import { CelError, toJson } from '@capstan/cel';
import { asJson, isObject, type Json, type JsonObject, type KubeObject, own, setOwn } from '@capstan/machinery';
import type { CompiledRule, VersionRules } from './compile.ts';
import { type Path, setAt, valueAt } from './paths.ts';

/**
 * Prefix of an annotation with fields that the object's version lacks, as JSON by field path; the name ends with the version that has them.
 */
const preserved = 'preserve.conversion.apis.kcp.io/';

/** The cost limit for all transformations of one object: a few hundredths of a second at worst, during which other requests wait. */
const budget = 100_000;

/** How much an object may grow, in characters. */
const mostGrowth = 256 * 1024;

/** A rule that failed. */
export class RuleFailure extends Error {
  override readonly name = 'RuleFailure';
  /** The source field of the rule. */
  readonly path: Path;

  constructor({ from }: CompiledRule, why: string) {
    super(why);
    this.path = from;
  }
}

/** The compiled rules of an APIConversion. */
export class ConversionTable {
  readonly #rules = new Map<string, VersionRules>();
  /** The fields to preserve, by version. */
  readonly #preserve = new Map<string, Path[]>();

  constructor(versions: readonly VersionRules[]) {
    for (const one of versions) {
      this.#rules.set(`${one.from} ${one.to}`, one);
      this.#preserve.set(one.from, [...(this.#preserve.get(one.from) ?? []), ...one.preserve]);
    }
  }

  /** Converts the object in place. It may be half converted when a rule fails. */
  convert(object: KubeObject, from: string, to: string): void {
    const json = asJson(object);
    const before = this.#preservedOf(json, from);
    this.#carryOut(json, this.#rules.get(`${from} ${to}`)?.rules ?? []);
    this.#restore(object, to);
    if (before !== undefined) setAt(json, ['metadata', 'annotations', preserved + from], JSON.stringify(before));
  }

  #carryOut(object: JsonObject, rules: readonly CompiledRule[]): void {
    let left = budget;
    let room = mostGrowth;
    // All rules read the original object.
    const results = rules.map((rule): [Path, Json | undefined] => {
      const value = valueAt(object, rule.from);
      if (value === undefined || rule.program === undefined) return [rule.to, value];
      const outcome = rule.program.evaluate({ self: value }, { costLimit: left });
      left -= outcome.cost;
      if (outcome.error !== undefined) {
        const why = outcome.isCostExceeded ? `the transformations of one object may cost ${budget} at most` : outcome.error;
        throw new RuleFailure(rule, why);
      }
      const result = toJson(outcome.value);
      if (result instanceof CelError) throw new RuleFailure(rule, result.message);
      room -= JSON.stringify(result).length - JSON.stringify(value).length;
      if (room < 0) throw new RuleFailure(rule, `an object may grow by ${mostGrowth} characters at most`);
      return [rule.to, result ?? undefined];
    });
    for (const [path, value] of results) setAt(object, path, value);
  }

  #preservedOf(object: JsonObject, version: string): JsonObject | undefined {
    let found: JsonObject | undefined;
    for (const path of this.#preserve.get(version) ?? []) {
      const value = valueAt(object, path);
      if (value !== undefined) setOwn((found ??= {}), path.join('.'), value);
    }
    return found;
  }

  /**
   * Restores the fields that were preserved when the object left this version. Users can write the annotation, so only fields listed in
   * `preserve` are taken from it.
   */
  #restore(object: KubeObject, version: string): void {
    const { metadata } = object;
    const { annotations } = metadata;
    const text = annotations?.[preserved + version];
    if (annotations === undefined || text === undefined) return;
    delete annotations[preserved + version];
    if (Object.keys(annotations).length === 0) delete metadata.annotations;
    const fields = parsed(text);
    for (const path of this.#preserve.get(version) ?? []) {
      const value = own(fields, path.join('.'));
      if (value !== undefined) setAt(asJson(object), path, value);
    }
  }
}

function parsed(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : {};
  } catch {
    // Not written by a conversion.
    return {};
  }
}

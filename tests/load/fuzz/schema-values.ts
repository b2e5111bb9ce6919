import { isObject, type Json, type JsonObject } from '@capstan/machinery';
import type { Random } from './random.ts';
import { anyJson, anyText } from './values.ts';

/** Values that mean something to the platform: names of its objects, sizes, and units of time. */
const meaningful = ['load', 'n0', 'n1', 'n2', 'rke2', 'slurm', 'small', 'data', 'sleep', '1Gi', '500m', '10s', '1h', 'H200', 'true'];

/** A value of the schema, of which a few parts are of other types. `resolve` finds what a reference names. */
export function fitting(random: Random, schema: Json | undefined, resolve: (name: string) => Json | undefined, depth = 0): Json {
  if (!isObject(schema) || random.chance(0.02)) return anyJson(random, Math.min(depth, 5));
  const { $ref: reference, enum: choices, type, items, properties, additionalProperties, required = [] } = schema;
  if (typeof reference === 'string') return fitting(random, resolve(reference), resolve, depth);
  if (Array.isArray(choices) && random.chance(0.9)) return random.pick(choices);
  switch (Array.isArray(type) ? random.pick(type) : type) {
    case 'object': {
      const object: JsonObject = {};
      const needed = new Set(required as readonly string[]);
      for (const [name, one] of Object.entries(isObject(properties) ? properties : {}))
        if (random.chance(needed.has(name) ? 0.95 : depth > 5 ? 0.02 : 0.3)) object[name] = fitting(random, one, resolve, depth + 1);
      if (isObject(additionalProperties))
        for (let count = random.length(6); count > 0; count--)
          object[anyText(random)] = fitting(random, additionalProperties, resolve, depth + 1);
      return object;
    }
    case 'array':
      return Array.from({ length: random.length(12) + 1 }, () => fitting(random, items, resolve, depth + 1));
    case 'string':
      return random.chance(0.6) ? random.pick(meaningful) : anyText(random);
    case 'integer':
    case 'number':
      return random.chance(0.7) ? random.below(9) : random.pick([-1, 2 ** 31, 2 ** 53, 1.5, 1e300]);
    case 'boolean':
      return random.chance(0.5);
    default:
      return anyJson(random, Math.min(depth, 5));
  }
}

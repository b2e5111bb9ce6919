import { FieldPath } from '../field/path.ts';
import type { Schema } from './schema.ts';

/** A user-written path into a schema, such as `.spec.size` or `.spec['a.b']`. */
export interface FieldReference {
  readonly path: FieldPath;
  readonly names: readonly string[];
  readonly schema: Schema;
}

export class BadFieldReference extends Error {
  override readonly name = 'BadFieldReference';
}

/** Follows a path into the schema. Throws a BadFieldReference that says where the path fails. */
export function resolveFieldReference(text: string, root: Schema, { brackets }: { brackets: boolean }): FieldReference {
  let schema = root;
  let path = FieldPath.of();
  const names: string[] = [];
  const step = (name: string): void => {
    const property = schema.properties.get(name);
    if (schema.properties.size === 0 && schema.additional?.schema !== undefined) {
      path = path.key(name);
      schema = schema.additional.schema;
    } else if (property !== undefined) {
      path = path.child(name);
      schema = property;
    } else {
      throw new BadFieldReference('does not refer to a valid field');
    }
    names.push(name);
  };
  const tokens = text.match(/'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]']+|'/g) ?? [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!;
    const next = tokens[++index];
    if (token === '[' && !brackets) throw new BadFieldReference('array notation is not allowed');
    if (token !== '.' && token !== '[') throw new BadFieldReference(`expected [ or . but got: ${token}`);
    if (next === undefined) throw new BadFieldReference('unexpected end of JSON path');
    if (token === '.') {
      step(next);
      continue;
    }
    if (!/^'.*'$/s.test(next) || next.length < 2) throw new BadFieldReference(`expected single quoted string but got ${next}`);
    step(next.slice(1, -1).replace(/\\(.)/gs, '$1'));
    const close = tokens[++index];
    if (close === undefined) throw new BadFieldReference('unexpected end of JSON path');
    if (close !== ']') throw new BadFieldReference(`expected ] but got ${close}`);
  }
  return { path, names, schema };
}

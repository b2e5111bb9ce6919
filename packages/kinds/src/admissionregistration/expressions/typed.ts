import { type Declaration, declare, escapeProperty } from '@capstan/cel';
import type { ObjectType, Type } from '@capstan/machinery';

/** Declares an object of a known kind, so that expressions can be type-checked before there is a request. */
export function typedDeclaration(type: ObjectType, name: string): Declaration {
  return declarationOf(type, name, []);
}

function declarationOf(type: Type, name: string, around: readonly Type[]): Declaration {
  switch (type.kind) {
    case 'scalar':
      return scalars[type.scalar];
    case 'list':
      return declare.list(declarationOf(type.items, `${name}.@idx`, around));
    case 'map':
      return declare.map(declarationOf(type.values, `${name}.@elem`, around));
    case 'object':
      return objectDeclaration(type, name, around);
    default:
      return declare.dyn;
  }
}

/** A recursive type becomes `dyn` where it first contains itself. */
function objectDeclaration(type: ObjectType, name: string, around: readonly Type[]): Declaration {
  if (type.fields.size === 0 || type.preserveUnknown || around.includes(type)) return declare.dyn;
  const inside = [...around, type];
  const fields: Record<string, Declaration> = {};
  for (const field of type.fields.values()) {
    const property = escapeProperty(field.name);
    if (property !== undefined) fields[property] = declarationOf(field.type, `${name}.${field.name}`, inside);
  }
  return declare.object(name, fields);
}

const scalars = {
  string: declare.string,
  bytes: declare.bytes,
  bool: declare.bool,
  int32: declare.int,
  int64: declare.int,
  double: declare.double,
  time: declare.timestamp,
  microTime: declare.timestamp,
  duration: declare.string,
  // Either a number or a string, which only the value shows.
  quantity: declare.dyn,
  intOrString: declare.dyn,
} as const;

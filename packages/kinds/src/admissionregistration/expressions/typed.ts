import { type Declaration, declare, escapeProperty } from '@capstan/cel';
import type { ObjectType, Type } from '@capstan/machinery';

/** The declaration of an object of a known kind, for checking what expressions say about it before there is one. */
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

/** Kinds that contain themselves have no end: from there on anything goes. */
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
  // A number or a text: known when there is one.
  quantity: declare.dyn,
  intOrString: declare.dyn,
} as const;

import { readFileSync } from 'node:fs';
import {
  anyForms,
  type FieldRow,
  fieldFlags,
  type GroupInfo,
  type ResourceInfo,
  type ResourcesFile,
  scalars,
  type TypeCode,
  type TypesFile,
} from './table-format.ts';
import type { AnyType, Field, ObjectType, PatchRule, ProtoField, ScalarType, Type } from './type.ts';

/** The types of the built-in kinds, by schema name. */
export interface TypeTable {
  /** Throws if there is no such type: the names come from the tables themselves. */
  object(name: string): ObjectType;
  has(name: string): boolean;
  names(): readonly string[];
}

const schemaProps = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';

/** Links a type on first use: a server uses few types, and they refer to each other in cycles. */
class LinkedTable implements TypeTable {
  readonly #file: TypesFile;
  readonly #objects: (LinkedObject | undefined)[] = [];
  readonly #index: Map<string, number>;
  readonly #scalars: readonly ScalarType[] = scalars.map((scalar) => ({ kind: 'scalar', scalar }));
  readonly #named = new Map<TypeCode, Type>();
  #any: AnyType[] | undefined;

  constructor(file: TypesFile) {
    this.#file = file;
    this.#index = new Map(file.names.map((name, index) => [name, index]));
  }

  has(name: string): boolean {
    return this.#index.has(name);
  }

  names(): readonly string[] {
    return this.#file.names;
  }

  object(name: string): ObjectType {
    const index = this.#index.get(name);
    if (index === undefined) throw new Error(`no built-in type is called ${name}; derive the tables again if Kubernetes has it`);
    return this.#at(index);
  }

  fieldsAt(index: number): Map<string, Field> {
    const fields = new Map<string, Field>();
    const [, ...rows] = this.#file.types[index]!;
    for (const row of rows) fields.set(row[0], this.#field(row));
    return fields;
  }

  #at(index: number): ObjectType {
    return (this.#objects[index] ??= new LinkedObject(this, index, {
      name: this.#file.names[index]!,
      atomic: this.#file.types[index]![0] === 1,
    }));
  }

  #field([name, code, flags, number, fallback, mergeKey]: FieldRow): Field {
    const patch = patchRule(flags, mergeKey);
    const proto = protoField(number);
    const empty = emptyRule(flags);
    return {
      name,
      type: this.#type(code),
      required: (flags & fieldFlags.required) !== 0,
      ...(fallback !== undefined && fallback !== null && { default: fallback }),
      ...(patch !== undefined && { patch }),
      ...(proto !== undefined && { proto }),
      ...(empty !== undefined && { empty }),
    };
  }

  #type(code: TypeCode): Type {
    if (typeof code === 'number') {
      if (code >= 100) return this.#at(code - 100);
      return code >= 0 ? this.#scalars[code]! : this.#anyTypes()[-1 - code]!;
    }
    let type = this.#named.get(code);
    if (type === undefined) this.#named.set(code, (type = this.#composite(code)));
    return type;
  }

  #composite(code: Exclude<TypeCode, number>): Type {
    switch (code[0]) {
      case 'l': {
        const [, items, listType, ...keys] = code;
        return { kind: 'list', items: this.#type(items), listType: listType === 2 ? 'map' : listType === 1 ? 'set' : 'atomic', keys };
      }
      case 'm':
        return { kind: 'map', values: this.#type(code[1]), atomic: code[2] === 1 };
      case 'g':
        return new LinkedObject(this, code[1] - 100, { name: this.#file.names[code[1] - 100]!, atomic: false });
      case 'n': {
        const [, underlying, name, wrapped] = code;
        const type = this.#type(underlying);
        if (type.kind === 'object' || type.kind === 'any') return type;
        return { ...type, goName: this.#file.goNames[name]!, ...(wrapped === 1 && { wrapped: true }) };
      }
    }
  }

  #anyTypes(): AnyType[] {
    this.#any ??= anyForms.map((form) =>
      form === 'raw' || form === 'json'
        ? { kind: 'any', deduced: false, form }
        : { kind: 'any', deduced: false, form, schema: this.object(schemaProps) },
    );
    return this.#any;
  }
}

class LinkedObject implements ObjectType {
  readonly kind = 'object';
  readonly name: string;
  readonly atomic: boolean;
  readonly preserveUnknown = false;
  readonly #table: LinkedTable;
  readonly #index: number;
  #fields: Map<string, Field> | undefined;

  constructor(table: LinkedTable, index: number, { name, atomic }: { name: string; atomic: boolean }) {
    this.#table = table;
    this.#index = index;
    this.name = name;
    this.atomic = atomic;
  }

  get fields(): ReadonlyMap<string, Field> {
    return (this.#fields ??= this.#table.fieldsAt(this.#index));
  }
}

function patchRule(flags: number, mergeKey: string | undefined): PatchRule | undefined {
  const merge = (flags & fieldFlags.merge) !== 0;
  const retainKeys = (flags & fieldFlags.retainKeys) !== 0;
  if (!merge && !retainKeys) return undefined;
  return { merge, retainKeys, ...(mergeKey !== undefined && { mergeKey }) };
}

function protoField(number: number | readonly number[]): ProtoField | undefined {
  if (typeof number !== 'number') return { inline: number.slice(0, -1), number: number.at(-1)! };
  return number === 0 ? undefined : { number };
}

function emptyRule(flags: number): Field['empty'] {
  if ((flags & fieldFlags.dropped) !== 0) return 'dropped';
  if ((flags & fieldFlags.printed) !== 0) return 'printed';
  return (flags & fieldFlags.null) !== 0 ? 'null' : undefined;
}

let types: LinkedTable | undefined;
let resources: ResourcesFile | undefined;

export function builtinTypes(): TypeTable {
  return (types ??= new LinkedTable(read('types.json') as TypesFile));
}

export function builtinResources(): readonly ResourceInfo[] {
  return resourcesFile().resources;
}

/** In discovery order; the first is the core group, whose name is empty. */
export function builtinGroups(): readonly GroupInfo[] {
  return resourcesFile().groups;
}

function resourcesFile(): ResourcesFile {
  return (resources ??= read('resources.json') as ResourcesFile);
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`../generated/${file}`, import.meta.url), 'utf8'));
}

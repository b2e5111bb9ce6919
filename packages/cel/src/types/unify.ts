import { DYN, listOf, mapOf, opaqueOf, parametersOf, sameType, type Type, typeOf } from './type.ts';

/** Bindings of type variables. A failed attempt is rolled back, so that attempts need no copy. */
export class Substitutions {
  readonly #types: Map<string, Type>;
  readonly #written: { name: string; previous: Type | undefined }[] = [];

  constructor(types: Iterable<readonly [string, Type]> = []) {
    this.#types = new Map(types);
  }

  get(name: string): Type | undefined {
    return this.#types.get(name);
  }

  set(name: string, type: Type): void {
    this.#written.push({ name, previous: this.#types.get(name) });
    this.#types.set(name, type);
  }

  /** Runs an attempt, and rolls it back if it returns false. */
  attempt(action: () => boolean): boolean {
    if (action()) {
      this.#written.length = 0;
      return true;
    }
    for (const { name, previous } of this.#written.reverse()) {
      if (previous === undefined) this.#types.delete(name);
      else this.#types.set(name, previous);
    }
    this.#written.length = 0;
    return false;
  }
}

/** Whether a value of type `from` can be used where `to` is expected; records the resulting bindings of type variables. */
export function assign(known: Substitutions, to: Type, from: Type): boolean {
  return known.attempt(() => isAssignable(known, to, from));
}

export function assignAll(known: Substitutions, to: readonly Type[], from: readonly Type[]): boolean {
  return known.attempt(() => areAssignable(known, to, from));
}

function areAssignable(known: Substitutions, to: readonly Type[], from: readonly Type[]): boolean {
  return to.length === from.length && to.every((type, index) => isAssignable(known, type, from[index]!));
}

function isAssignable(known: Substitutions, one: Type, other: Type): boolean {
  if (other.kind === 'parameter') {
    const outcome = substituteFor(known, one, other);
    if (outcome === 'fits') return true;
    if (outcome === 'conflicts') return false;
  }
  if (one.kind === 'parameter') return substituteFor(known, other, one) === 'fits';
  if (isWildcard(one) || isWildcard(other)) return true;
  if (one.kind === 'null') return isNullable(other);
  if (other.kind === 'null') return isNullable(one);
  if (one.kind !== other.kind) return false;
  switch (one.kind) {
    case 'type':
      return true;
    case 'list':
    case 'map':
    case 'opaque':
      if (one.kind === 'opaque' && one.name !== (other as { name: string }).name) return false;
      return areAssignable(known, parametersOf(one), parametersOf(other));
    case 'object':
      return one.name === (other as { name: string }).name;
    default:
      return true;
  }
}

function isWildcard(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

function isNullable(type: Type): boolean {
  return ['null', 'opaque', 'object', 'timestamp', 'duration'].includes(type.kind);
}

type Outcome = 'fits' | 'conflicts' | 'refers to itself';

function substituteFor(known: Substitutions, type: Type, variable: Type & { kind: 'parameter' }): Outcome {
  if (sameType(type, variable)) return 'fits';
  const current = known.get(variable.name);
  if (current === undefined) {
    if (occursIn(known, variable, type)) return 'refers to itself';
    known.set(variable.name, type);
    return 'fits';
  }
  if (sameType(type, current)) return 'fits';
  if (!isAssignable(known, type, current)) return 'conflicts';
  const general = mostGeneral(type, current);
  if (!occursIn(known, variable, general)) known.set(variable.name, general);
  return 'fits';
}

function occursIn(known: Substitutions, variable: Type & { kind: 'parameter' }, within: Type): boolean {
  if (sameType(variable, within)) return true;
  if (within.kind === 'parameter') {
    const stands = known.get(within.name);
    return stands !== undefined && occursIn(known, variable, stands);
  }
  return parametersOf(within).some((type) => occursIn(known, variable, type));
}

/** The more general of two compatible types. */
export function mostGeneral(one: Type, other: Type): Type {
  return isAsGeneral(one, other) ? one : other;
}

function isAsGeneral(one: Type, other: Type): boolean {
  if (one.kind === 'dyn' || one.kind === 'parameter') return true;
  if (other.kind === 'dyn' || other.kind === 'parameter') return false;
  if (one.kind !== other.kind) return false;
  switch (one.kind) {
    case 'list':
    case 'map':
    case 'opaque': {
      if (one.kind === 'opaque' && one.name !== (other as { name: string }).name) return false;
      const right = parametersOf(other);
      return parametersOf(one).every((type, index) => isAsGeneral(type, right[index]!));
    }
    case 'type':
      return true;
    default:
      return sameType(one, other);
  }
}

/** Replaces type variables with their bindings; unbound ones become `dyn` if `isFinal`. */
export function substitute(known: Substitutions, type: Type, isFinal = false): Type {
  switch (type.kind) {
    case 'parameter': {
      const stands = known.get(type.name);
      if (stands !== undefined) return substitute(known, stands, isFinal);
      return isFinal ? DYN : type;
    }
    case 'list':
      return listOf(substitute(known, type.element, isFinal));
    case 'map':
      return mapOf(substitute(known, type.key, isFinal), substitute(known, type.value, isFinal));
    case 'opaque':
      return opaqueOf(type.name, ...type.parameters.map((parameter) => substitute(known, parameter, isFinal)));
    case 'type':
      return type.of === undefined ? type : typeOf(substitute(known, type.of, isFinal));
    default:
      return type;
  }
}

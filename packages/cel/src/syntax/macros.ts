import type { Comprehension, Expression } from './ast.ts';
import type { FoldKind } from './fold.ts';

/** A call as written; a macro is expanded before types are checked. */
export interface WrittenCall {
  readonly name: string;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
  /** The position of the opening parenthesis. */
  readonly position: number;
}

export interface MacroError {
  readonly error: string;
  readonly position: number;
}

type Expander = (builder: Builder, target: Expression, args: readonly Expression[]) => Expression | MacroError;

/** No expression can name this variable, so nested loops need no renaming. */
const ACCUMULATOR = '@result';

/** The expansion of a macro, an error about its arguments, or undefined for an ordinary call. */
export function expandMacro(written: WrittenCall, hasNewest: boolean): Expression | MacroError | undefined {
  const { name, target, args, position } = written;
  if (target === undefined) return name === 'has' && args.length === 1 ? expandHas(args[0]!, position) : undefined;
  if (!hasNewest && name === 'sortBy') return undefined;
  const expander = receiverMacros.get(`${name}/${args.length}`);
  return expander?.(new Builder(position), target, args);
}

function expandHas(argument: Expression, position: number): Expression | MacroError {
  if (argument.kind !== 'select') return { error: 'invalid argument to has() macro', position: argument.position };
  return { kind: 'select', position, operand: argument.operand, field: argument.field, test: true };
}

/** Creates the nodes of an expansion, all at the position of the macro. */
class Builder {
  readonly position: number;

  constructor(position: number) {
    this.position = position;
  }

  literal(value: boolean | number): Expression {
    return { kind: 'literal', position: this.position, value };
  }

  identifier(name: string): Expression {
    return { kind: 'identifier', position: this.position, name };
  }

  accumulator(): Expression {
    return this.identifier(ACCUMULATOR);
  }

  call(name: string, ...args: Expression[]): Expression {
    return { kind: 'call', position: this.position, name, target: undefined, args };
  }

  method(name: string, target: Expression, ...args: Expression[]): Expression {
    return { kind: 'call', position: this.position, name, target, args };
  }

  list(...elements: Expression[]): Expression {
    return { kind: 'list', position: this.position, elements, optional: new Set() };
  }

  map(): Expression {
    return { kind: 'map', position: this.position, entries: [] };
  }

  loop(parts: Omit<Comprehension, 'kind' | 'position' | 'accumulator' | 'type'>): Expression {
    return { kind: 'comprehension', position: this.position, accumulator: ACCUMULATOR, ...parts };
  }

  /** `let name = value in body`, expressed as a loop that never runs. */
  bind(name: string, value: Expression, body: Expression): Expression {
    return {
      kind: 'comprehension',
      position: this.position,
      fold: { kind: 'bind' },
      range: this.list(),
      variable: '#unused',
      secondVariable: undefined,
      accumulator: name,
      initial: value,
      condition: this.literal(false),
      step: this.identifier(name),
      result: body,
    };
  }
}

interface Variables {
  readonly variable: string;
  readonly secondVariable: string | undefined;
}

function readVariables(args: readonly Expression[], count: 1 | 2, message: string): Variables | MacroError {
  const names: string[] = [];
  for (const argument of args.slice(0, count)) {
    if (argument.kind !== 'identifier') return { error: message, position: argument.position };
    names.push(argument.name);
  }
  if (count === 2 && names[0] === names[1]) return { error: `duplicate variable name: ${names[0]}`, position: args[1]!.position };
  const overwriting = names.indexOf('__result__');
  if (overwriting >= 0) return { error: 'iteration variable overwrites accumulator variable', position: args[overwriting]!.position };
  return { variable: names[0]!, secondVariable: names[1] };
}

const SIMPLE_NAME = 'argument must be a simple name';
const NOT_IDENTIFIER = 'argument is not an identifier';

function all(count: 1 | 2): Expander {
  return (builder, range, args) => {
    const variables = readVariables(args, count, SIMPLE_NAME);
    if ('error' in variables) return variables;
    const predicate = args[count]!;
    return builder.loop({
      fold: { kind: 'all', predicate },
      range,
      ...variables,
      initial: builder.literal(true),
      condition: builder.call('@not_strictly_false', builder.accumulator()),
      step: builder.call('_&&_', builder.accumulator(), predicate),
      result: builder.accumulator(),
    });
  };
}

function exists(count: 1 | 2): Expander {
  return (builder, range, args) => {
    const variables = readVariables(args, count, SIMPLE_NAME);
    if ('error' in variables) return variables;
    const predicate = args[count]!;
    return builder.loop({
      fold: { kind: 'exists', predicate },
      range,
      ...variables,
      initial: builder.literal(false),
      condition: builder.call('@not_strictly_false', builder.call('!_', builder.accumulator())),
      step: builder.call('_||_', builder.accumulator(), predicate),
      result: builder.accumulator(),
    });
  };
}

function existsOne(count: 1 | 2): Expander {
  return (builder, range, args) => {
    const variables = readVariables(args, count, SIMPLE_NAME);
    if ('error' in variables) return variables;
    const predicate = args[count]!;
    const increment = builder.call('_+_', builder.accumulator(), builder.literal(1));
    return builder.loop({
      fold: { kind: 'existsOne', predicate },
      range,
      ...variables,
      initial: builder.literal(0),
      condition: builder.literal(true),
      step: builder.call('_?_:_', predicate, increment, builder.accumulator()),
      result: builder.call('_==_', builder.accumulator(), builder.literal(1)),
    });
  };
}

/** `map(x, f)`, `map(x, p, f)` and `transformList` with two variables: a list of the results of `f`. */
function mapToList(count: 1 | 2): Expander {
  return (builder, range, args) => {
    const variables = readVariables(args, count, count === 1 ? NOT_IDENTIFIER : SIMPLE_NAME);
    if ('error' in variables) return variables;
    const transform = args.at(-1)!;
    const filter = args.length === count + 2 ? args[count] : undefined;
    return listLoop(builder, { range, variables, filter, transform });
  };
}

const filterList: Expander = (builder, range, args) => {
  const variables = readVariables(args, 1, NOT_IDENTIFIER);
  if ('error' in variables) return variables;
  return listLoop(builder, { range, variables, filter: args[1], transform: args[0]! });
};

interface ListLoop {
  readonly range: Expression;
  readonly variables: Variables;
  readonly filter: Expression | undefined;
  readonly transform: Expression;
}

function listLoop(builder: Builder, { range, variables, filter, transform }: ListLoop): Expression {
  const append = builder.call('_+_', builder.accumulator(), builder.list(transform));
  return builder.loop({
    fold: { kind: 'list', filter, transform },
    range,
    ...variables,
    initial: builder.list(),
    condition: builder.literal(true),
    step: filter === undefined ? append : builder.call('_?_:_', filter, append, builder.accumulator()),
    result: builder.accumulator(),
  });
}

function mapToMap(kind: 'map' | 'mapEntries'): Expander {
  return (builder, range, args) => {
    const variables = readVariables(args, 2, SIMPLE_NAME);
    if ('error' in variables) return variables;
    const transform = args.at(-1)!;
    const filter = args.length === 4 ? args[2] : undefined;
    const inserted = kind === 'map' ? [builder.identifier(variables.variable), transform] : [transform];
    const insert = builder.call('cel.@mapInsert', builder.accumulator(), ...inserted);
    const fold: FoldKind = { kind, filter, transform };
    return builder.loop({
      fold,
      range,
      ...variables,
      initial: builder.map(),
      condition: builder.literal(true),
      step: filter === undefined ? insert : builder.call('_?_:_', filter, insert, builder.accumulator()),
      result: builder.accumulator(),
    });
  };
}

/**
 * `x.optMap(v, f)` is `x.hasValue() ? optional.of(let v = x.value() in f) : optional.none()`; the flat form omits `optional.of`. Both uses
 * of `x` share one node: copies would double with each link of a chain.
 */
function optionalMap(name: 'optMap' | 'optFlatMap'): Expander {
  return (builder, target, args) => {
    const variable = args[0]!;
    if (variable.kind !== 'identifier') {
      return { error: `${name}() variable name must be a simple identifier`, position: variable.position };
    }
    const bound = builder.bind(variable.name, builder.method('value', target), args[1]!);
    const present = name === 'optMap' ? builder.call('optional.of', bound) : bound;
    return builder.call('_?_:_', builder.method('hasValue', target), present, builder.call('optional.none'));
  };
}

/** `list.sortBy(x, key)`: the list sorted by the list of its keys. */
const sortBy: Expander = (builder, target, args) => {
  if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct') {
    const error = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression';
    return { error, position: target.position };
  }
  const input = '@__sortBy_input__';
  const keys = mapToList(1)(builder, builder.identifier(input), args);
  if ('error' in keys) return keys;
  return builder.bind(input, target, builder.method('@sortByAssociatedKeys', builder.identifier(input), keys));
};

const receiverMacros = new Map<string, Expander>([
  ['all/2', all(1)],
  ['all/3', all(2)],
  ['exists/2', exists(1)],
  ['exists/3', exists(2)],
  ['exists_one/2', existsOne(1)],
  ['exists_one/3', existsOne(2)],
  ['existsOne/2', existsOne(1)],
  ['existsOne/3', existsOne(2)],
  ['map/2', mapToList(1)],
  ['map/3', mapToList(1)],
  ['filter/2', filterList],
  ['transformList/3', mapToList(2)],
  ['transformList/4', mapToList(2)],
  ['transformMap/3', mapToMap('map')],
  ['transformMap/4', mapToMap('map')],
  ['transformMapEntry/3', mapToMap('mapEntries')],
  ['transformMapEntry/4', mapToMap('mapEntries')],
  ['optMap/2', optionalMap('optMap')],
  ['optFlatMap/2', optionalMap('optFlatMap')],
  ['sortBy/2', sortBy],
]);

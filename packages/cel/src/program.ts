import { enterLimit, type Json, leaveLimit, OutOfSteps, type Parts } from '@capstan/machinery';
import { checkAggregates } from './check/aggregates.ts';
import { check } from './check/checker.ts';
import type { Environment } from './check/environment.ts';
import { checkLiterals } from './check/literals.ts';
import { estimateCost } from './cost/estimate.ts';
import type { Range } from './cost/range.ts';
import { type CompileError, ErrorList } from './errors.ts';
import { Attempts, attempting, leaveAttempt, stepsOfAttempt } from './evaluate/attempt.ts';
import { Compiler } from './evaluate/compile.ts';
import { instantiationError } from './evaluate/constant.ts';
import { LazyFields } from './evaluate/lazy.ts';
import { type Code, CostLimitExceeded, partsOf, Run } from './evaluate/run.ts';
import { type Flow, perform, Task } from './evaluate/task.ts';
import type { FunctionTable } from './library/function.ts';
import { kubernetesTypeNames, newFunctions, patchFunctions, storedFunctions } from './library/kubernetes.ts';
import type { Expression } from './syntax/ast.ts';
import { children } from './syntax/children.ts';
import { parse } from './syntax/parser.ts';
import { Source } from './syntax/source.ts';
import type { Declaration } from './types/declaration.ts';
import { noStructs, patchTypes } from './types/patch-types.ts';
import { printType, type Type } from './types/type.ts';
import { CelError, ListValue, MapValue, OpaqueValue, Optional, type Value } from './value/value.ts';

/** The cost limit of one evaluation. */
export const COST_PER_CALL = 1_000_000;
/**
 * The most steps of one evaluation. Kubernetes' costs say little about the work of some operations: comparing two objects costs one,
 * however large they are.
 */
export const STEPS_PER_CALL = 4_000_000;

export interface CompileOptions {
  readonly variables: ReadonlyMap<string, Declaration>;
  /** Whether the expression may create patches: `Object{…}`, `JSONPatch{…}` and related functions. */
  readonly makesPatches?: boolean;
  /**
   * Whether to include functions that are new in the latest version. Kubernetes accepts them in stored expressions but not in new ones, so
   * that users can downgrade by one version.
   */
  readonly isStored?: boolean;
}

export type Compilation =
  | { readonly program: Program; readonly errors?: undefined; readonly message?: undefined; readonly stage?: undefined }
  /** The error; Kubernetes reports `${stage} failed: ${message}`. */
  | {
      readonly program?: undefined;
      readonly errors: readonly CompileError[];
      readonly message: string;
      readonly stage: 'compilation' | 'program instantiation';
    };

/** Parses and checks an expression. A program is compiled once and evaluated as often as needed. */
export function compile(source: string, options: CompileOptions): Compilation {
  const errors = new ErrorList(new Source(source));
  const environment: Environment = {
    variables: options.variables,
    structs: options.makesPatches === true ? patchTypes : noStructs,
    functions: functionsFor(options),
    typeNames: kubernetesTypeNames,
  };
  const expression = parse(errors, { hasNewestMacros: options.isStored === true });
  if (expression !== undefined) {
    check(expression, environment, errors);
    if (errors.isEmpty) {
      checkLiterals(expression, errors);
      checkAggregates(expression, errors);
    }
  }
  if (expression === undefined || !errors.isEmpty) {
    return { errors: errors.errors, message: errors.print(), stage: 'compilation' };
  }
  const broken = instantiationError(expression);
  if (broken !== undefined) {
    return { errors: [{ message: broken, line: -1, column: 0 }], message: broken, stage: 'program instantiation' };
  }
  return { program: new Program(source, expression, environment) };
}

function functionsFor(options: CompileOptions): FunctionTable {
  if (options.isStored === true) return storedFunctions;
  return options.makesPatches === true ? patchFunctions : newFunctions;
}

/** JSON for a declared variable, or a value of ours, such as an authorizer or another program's result. */
export type Binding = Json | Value | undefined;

type Bindings = Readonly<Record<string, Binding>>;

export interface EvaluateOptions {
  /** The cost limit of this evaluation; COST_PER_CALL by default. */
  readonly costLimit?: number;
  /** The most steps that this evaluation may take; STEPS_PER_CALL by default. */
  readonly stepLimit?: number;
}

export interface TaskOptions extends EvaluateOptions {
  /** Receives the outcome. */
  readonly take: (outcome: Outcome) => void;
}

interface Effort {
  /** The cost in Kubernetes. */
  readonly cost: number;
  /** The work: the cost or the counted steps, whichever is more. Budgets for several evaluations use this. */
  readonly work: number;
}

export type Outcome = Effort &
  (
    | { readonly value: Value; readonly error?: undefined }
    | { readonly value?: undefined; readonly error: string; readonly isCostExceeded: boolean }
  );

export class Program {
  readonly source: string;
  /** The type of the result; see `isBool` and `isString`. */
  readonly type: Type;
  /** The number of its subexpressions. */
  readonly size: number;
  readonly #expression: Expression;
  readonly #environment: Environment;
  readonly #code: Code;
  readonly #stepsOfAttempt: number;
  /** The lazy field that every evaluation reads before it does anything else. */
  readonly #firstRead: FirstRead | undefined;
  readonly #readers: readonly { readonly name: string; readonly declaration: Declaration }[];

  constructor(source: string, expression: Expression, environment: Environment) {
    this.source = source;
    this.type = expression.type!;
    this.#expression = expression;
    this.#environment = environment;
    const compiler = new Compiler(environment);
    compiler.declare(usedVariables(expression, environment));
    this.#code = compiler.compile(expression);
    this.size = compiler.sizeOf(expression);
    this.#stepsOfAttempt = stepsOfAttempt(this.size);
    this.#firstRead = firstRead(expression, environment);
    this.#readers = compiler.variables.map((name) => ({ name, declaration: environment.variables.get(name)! }));
  }

  /** The type of the result in messages: `bool`, `list(string)`. */
  get typeName(): string {
    return printType(this.type);
  }

  /** Whether the expression uses a variable. */
  uses(variable: string): boolean {
    return this.#readers.some(({ name }) => name === variable);
  }

  /** The least and the most that an evaluation can cost, given the maximum sizes of the declared variables. */
  estimateCost(): Range {
    return estimateCost(this.#expression, this.#environment.variables);
  }

  /** Computes the value. Errors are part of the outcome and never thrown. */
  evaluate(bindings: Bindings, options: EvaluateOptions = {}): Outcome {
    const run = new Run([], options.costLimit ?? COST_PER_CALL);
    return outcomeOf(run, this.#evaluate(run, bindings, options.stepLimit ?? STEPS_PER_CALL));
  }

  /** The same, if it takes few steps; undefined if it is to be done in parts. */
  attempt(bindings: Bindings, options: EvaluateOptions = {}): Outcome | undefined {
    const { costLimit = COST_PER_CALL, stepLimit = STEPS_PER_CALL } = options;
    if (this.#code.inParts === undefined || stepLimit <= this.#stepsOfAttempt) return this.evaluate(bindings, options);
    const run = new Run([], costLimit);
    const value = attempting(() => this.#evaluate(run, bindings, this.#stepsOfAttempt));
    return value === undefined || run.steps > this.#stepsOfAttempt ? undefined : outcomeOf(run, value);
  }

  /** The same in parts, with the same outcome. */
  *evaluateInParts(bindings: Bindings, options: EvaluateOptions = {}): Parts<Outcome> {
    let outcome: Outcome | undefined;
    const take = (made: Outcome): void => void (outcome = made);
    yield* perform(this.task(bindings, { ...options, take }));
    return outcome!;
  }

  /** The same as a task, for another evaluation that needs the outcome. */
  task(bindings: Bindings, { costLimit = COST_PER_CALL, stepLimit = STEPS_PER_CALL, take }: TaskOptions): Task {
    const run = new Run([], costLimit);
    const begin = (): Flow<() => void> => this.#flow(run, bindings, take);
    return new Task({ limit: stepLimit, size: this.size, run, before: () => this.#before(bindings), begin });
  }

  #evaluate(run: Run, bindings: Bindings, stepLimit: number): Value | Stopped {
    const entry = enterLimit(stepLimit);
    try {
      this.#bind(run, bindings);
      return this.#code.step(run);
    } catch (error) {
      return stoppedBy(error);
    } finally {
      run.steps = leaveLimit(entry);
    }
  }

  #before(bindings: Bindings): Task | undefined {
    if (this.#firstRead === undefined) return undefined;
    const { name, field } = this.#firstRead;
    const binding = bindings[name];
    return typeof binding === 'object' && binding !== null ? LazyFields.task(binding, field) : undefined;
  }

  *#flow(run: Run, bindings: Bindings, take: (outcome: Outcome) => void): Flow<() => void> {
    let value: Value | Stopped | undefined;
    try {
      this.#bind(run, bindings);
      // Where it only waited for a variable, it is short now.
      if (this.#firstRead !== undefined) value = new Attempts(this.size).evaluate(this.#code, run);
      if (value === undefined) value = yield* partsOf(this.#code, run);
    } catch (error) {
      value = stoppedBy(error);
    }
    const made = value;
    return () => take(outcomeOf(run, made));
  }

  #bind({ slots }: Run, bindings: Bindings): void {
    for (const { name, declaration } of this.#readers) slots.push(bind(bindings[name], name, declaration));
  }
}

function outcomeOf(run: Run, value: Value | Stopped): Outcome {
  const effort = { cost: run.cost, work: Math.max(run.cost, Math.ceil(run.steps)) };
  if (value instanceof Stopped) return { ...effort, error: value.message, isCostExceeded: value.isCostExceeded };
  if (value instanceof CelError) return { ...effort, error: value.message, isCostExceeded: false };
  return { ...effort, value };
}

/** The outcome of an evaluation that this error ended. */
function stoppedBy(error: unknown): Stopped {
  if (error instanceof CostLimitExceeded) return new Stopped(error.message, true);
  if (error instanceof OutOfSteps) return new Stopped(new CostLimitExceeded().message, true);
  // Strings and the stack have limits of their own, which a hostile expression may reach before the cost limit. In parts, less of the stack is needed.
  if (!(error instanceof RangeError)) throw error;
  leaveAttempt();
  return new Stopped(`evaluation failed: ${error.message}`, false);
}

/** The outcome of an evaluation that did not come to its end. */
class Stopped {
  readonly message: string;
  readonly isCostExceeded: boolean;

  constructor(message: string, isCostExceeded: boolean) {
    this.message = message;
    this.isCostExceeded = isCostExceeded;
  }
}

interface FirstRead {
  readonly name: string;
  readonly field: string;
}

/** Follows the operands that are evaluated first. */
function firstRead(root: Expression, { variables }: Environment): FirstRead | undefined {
  for (let expression: Expression | undefined = root; expression !== undefined; expression = firstOperand(expression)) {
    if (expression.kind !== 'select' || expression.operand.kind !== 'identifier') continue;
    const { name } = expression.operand;
    return variables.get(name)?.isLazy === true ? { name, field: expression.field } : undefined;
  }
  return undefined;
}

function firstOperand(expression: Expression): Expression | undefined {
  if (expression.kind === 'select') return expression.qualified === undefined ? expression.operand : undefined;
  // Nothing is looked for in an empty list.
  if (expression.kind !== 'call' || expression.name === '@in') return undefined;
  return expression.qualified === undefined && expression.target !== undefined ? expression.target : expression.args[0];
}

function usedVariables(root: Expression, environment: Environment): Set<string> {
  const used = new Set<string>();
  const seen = new Set<Expression>();
  const visit = (expression: Expression): void => {
    if (seen.has(expression)) return;
    seen.add(expression);
    const name = expression.kind === 'identifier' ? expression.name : expression.kind === 'select' ? expression.qualified : undefined;
    const plain = name?.replace(/^\./, '');
    if (plain !== undefined && environment.variables.has(plain)) used.add(plain);
    for (const child of children(expression)) visit(child);
  };
  visit(root);
  return used;
}

function bind(binding: Binding, name: string, declaration: Declaration): Value {
  if (binding === undefined) return new CelError(`no such attribute(s): ${name}`);
  if (isOurs(binding)) return binding;
  return declaration.read(binding as Json);
}

function isOurs(binding: Binding): binding is Value & object {
  return (
    typeof binding === 'object' &&
    (binding instanceof MapValue || binding instanceof ListValue || binding instanceof OpaqueValue || binding instanceof Optional)
  );
}

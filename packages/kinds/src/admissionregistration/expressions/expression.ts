import { type CompileOptions, compile, type Declaration, type Program } from '@capstan/cel';

/** A compiled expression, or the reason it did not compile. */
export type CompiledExpression =
  | { readonly source: string; readonly program: Program; readonly error?: undefined }
  | { readonly source: string; readonly program?: undefined; readonly error: string };

/** The types that an expression may return, by their names in cel-go. Empty allows any type. */
export type Results = readonly ('bool' | 'string' | 'null_type')[];

export const condition: Results = ['bool'];
export const message: Results = ['string'];
export const annotation: Results = ['string', 'null_type'];
export const anything: Results = [];

export function compileExpression(source: string, variables: ReadonlyMap<string, Declaration>, results: Results): CompiledExpression {
  return compiled(source, { variables }, results);
}

export type PatchType = 'ApplyConfiguration' | 'JSONPatch';

const patchResults: Readonly<Record<PatchType, readonly string[]>> = { ApplyConfiguration: ['Object'], JSONPatch: ['list(JSONPatch)'] };

/** Compiles an expression that returns a patch. */
export function compilePatch(source: string, variables: ReadonlyMap<string, Declaration>, type: PatchType): CompiledExpression {
  return compiled(source, { variables, makesPatches: true }, patchResults[type]);
}

function compiled(source: string, options: CompileOptions, results: readonly string[]): CompiledExpression {
  const { program, message: why } = compile(source, options);
  if (program === undefined) return { source, error: `compilation failed: ${why}` };
  const type = program.typeName === 'null' ? 'null_type' : program.typeName;
  if (results.length === 0 || results.includes(type)) return { source, program };
  const expected = results.length === 1 ? results[0] : `one of [${results.join(' ')}]`;
  return { source, error: `must evaluate to ${expected} but got ${type}` };
}

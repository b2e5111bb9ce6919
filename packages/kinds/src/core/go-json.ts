import { isObject } from '@capstan/machinery';

/** The error of Go's JSON decoder for a text that should be an object; undefined if it is one. Exact for common mistakes. */
export function jsonObjectProblem(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return syntaxProblem(text);
  }
  if (value === null || isObject(value)) return undefined;
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
}

function syntaxProblem(text: string): string {
  const start = text.trimStart();
  const first = start.charAt(0);
  if (first !== '' && !'{["-0123456789tfn'.includes(first)) return `invalid character ${goCharacter(first)} looking for beginning of value`;
  if (first === '{') {
    const second = start.slice(1).trimStart().charAt(0);
    if (second !== '' && second !== '"' && second !== '}') {
      return `invalid character ${goCharacter(second)} looking for beginning of object key string`;
    }
  }
  return 'unexpected end of JSON input';
}

function goCharacter(character: string): string {
  if (character === "'") return "'\\''";
  if (character === '"') return `'"'`;
  return `'${JSON.stringify(character).slice(1, -1)}'`;
}

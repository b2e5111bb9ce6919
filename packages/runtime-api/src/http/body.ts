import { isObject, type JsonObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';

/** Deeper than any field of our kinds, and shallow enough for every function that recurses. */
const deepest = 64;

/** The JSON object in a body. */
export function parseObject(text: string): JsonObject {
  if (isTooDeep(text)) throw new Problem('invalid_json', `The body nests objects and lists more than ${deepest} levels deep.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Problem('invalid_json', `The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!isObject(value)) throw new Problem('invalid_json', 'Expected the body to be a JSON object.');
  return value;
}

/** The text need not be valid. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === 0x5c) at++;
      else if (code === 0x22) isInText = false;
    } else if (code === 0x22) isInText = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

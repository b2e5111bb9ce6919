import { intValue, isInt64, isUint64 } from '../value/integer.ts';
import { CelError, Double, Uint, type Value } from '../value/value.ts';
import type { Token } from './lexer.ts';
import { EscapeError, unescapeBytes, unescapeString } from './unescape.ts';

/** The value of a number, string or bytes token, or an error. */
export function readLiteral({ kind, text }: Token, isNegative: boolean): Value {
  switch (kind) {
    case 'int': {
      const value = isNegative ? -BigInt(text) : BigInt(text);
      return isInt64(value) ? intValue(value) : new CelError('invalid int literal');
    }
    case 'uint': {
      const value = BigInt(text.slice(0, -1));
      return isUint64(value) ? new Uint(value) : new CelError('invalid uint literal');
    }
    case 'double': {
      const value = isNegative ? -Number(text) : Number(text);
      return Number.isFinite(value) ? new Double(value) : new CelError('invalid double literal');
    }
    default:
      return readQuoted(kind === 'bytes', text);
  }
}

function readQuoted(isBytes: boolean, text: string): Value {
  try {
    return isBytes ? unescapeBytes(text.slice(1)) : unescapeString(text);
  } catch (error) {
    if (error instanceof EscapeError) return new CelError(error.message);
    throw error;
  }
}

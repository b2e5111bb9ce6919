const simple = new Map([
  ['a', 7],
  ['b', 8],
  ['f', 12],
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['v', 11],
  ['"', 34],
  ["'", 39],
  ['\\', 92],
  ['?', 63],
  ['`', 96],
]);

/** An escape that is not a valid character, such as a surrogate half. */
export class EscapeError extends Error {}

/** The text of a string literal token, unquoted and unescaped. */
export function unescapeString(token: string): string {
  const { body, isRaw } = stripQuotes(token);
  if (isRaw || !body.includes('\\')) return normalizeNewlines(body);
  let result = '';
  for (const part of readParts(normalizeNewlines(body))) {
    if (typeof part === 'string') result += part;
    else {
      if (part.code > 0x10ffff || (part.code >= 0xd800 && part.code <= 0xdfff)) throw new EscapeError('unable to unescape string');
      result += String.fromCodePoint(part.code);
    }
  }
  return result;
}

/** The bytes of a bytes literal token (without its `b`): hexadecimal and octal escapes are bytes, the rest is UTF-8. */
export function unescapeBytes(token: string): Uint8Array {
  const { body, isRaw } = stripQuotes(token);
  if (isRaw) return new TextEncoder().encode(normalizeNewlines(body));
  const bytes: number[] = [];
  for (const part of readParts(normalizeNewlines(body))) {
    if (typeof part === 'string') for (const byte of new TextEncoder().encode(part)) bytes.push(byte);
    else if (part.isUnicode) throw new EscapeError('unable to unescape string');
    else bytes.push(part.code);
  }
  return Uint8Array.from(bytes);
}

function stripQuotes(token: string): { body: string; isRaw: boolean } {
  const isRaw = token[0] === 'r' || token[0] === 'R';
  const text = isRaw ? token.slice(1) : token;
  const quotes = text.length >= 6 && (text.startsWith('"""') || text.startsWith("'''")) ? 3 : 1;
  return { body: text.slice(quotes, -quotes), isRaw };
}

function normalizeNewlines(text: string): string {
  return text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text;
}

function* readParts(body: string): Generator<string | { code: number; isUnicode: boolean }> {
  let index = 0;
  while (index < body.length) {
    const backslash = body.indexOf('\\', index);
    if (backslash < 0) {
      yield body.slice(index);
      return;
    }
    if (backslash > index) yield body.slice(index, backslash);
    const kind = body[backslash + 1]!;
    const code = simple.get(kind);
    if (code !== undefined) {
      yield { code, isUnicode: false };
      index = backslash + 2;
      continue;
    }
    const length = kind === 'u' ? 4 : kind === 'U' ? 8 : kind === 'x' || kind === 'X' ? 2 : 0;
    const isUnicode = length > 2;
    if (length > 0) yield { code: Number.parseInt(body.slice(backslash + 2, backslash + 2 + length), 16), isUnicode };
    else yield { code: Number.parseInt(body.slice(backslash + 1, backslash + 4), 8), isUnicode };
    index = backslash + (length > 0 ? 2 + length : 4);
  }
}

/** One part of a pattern: a character, any character, any number of them, or a set. */
type Token = string | typeof any | typeof star | ReadonlySet<string>;
const any = Symbol('any');
const star = Symbol('star');

/** Whether a name without slashes matches. */
export type Glob = (name: string) => boolean;

/** Names and patterns are strings of bytes (`latin1`), so that names which are not UTF-8 match too. Undefined if the pattern is malformed: it matches nothing. */
export function compileGlob(pattern: string): Glob | undefined {
  const tokens = tokensOf(pattern);
  if (tokens === undefined) return undefined;
  if (tokens.every((token) => typeof token === 'string')) return (name) => name === tokens.join('');
  return (name) => matches(tokens, name);
}

/** Every star takes as little as possible, and more only if the rest does not match: at most names × patterns steps, whatever the pattern is. */
function matches(tokens: readonly Token[], name: string): boolean {
  let [at, token, starAt, starToken] = [0, 0, 0, -1];
  while (at < name.length) {
    if (tokens[token] === star) {
      starToken = token++;
      starAt = at;
    } else if (token < tokens.length && isOne(tokens[token]!, name[at]!)) {
      token++;
      at++;
    } else if (starToken >= 0) {
      token = starToken + 1;
      at = ++starAt;
    } else return false;
  }
  while (tokens[token] === star) token++;
  return token === tokens.length;
}

function isOne(token: Token, character: string): boolean {
  return token === any || token === character || (typeof token === 'object' && token.has(character));
}

function tokensOf(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === '*') {
      if (tokens.at(-1) !== star) tokens.push(star);
    } else if (character === '?') tokens.push(any);
    else if (character === '[') {
      const set = setAt(pattern, at);
      if (set === undefined) return undefined;
      tokens.push(set.characters);
      at = set.end;
    } else if (character === '\\') {
      if (++at === pattern.length) return undefined;
      tokens.push(pattern[at]!);
    } else tokens.push(character);
  }
  return tokens;
}

const everyByte = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
const classes: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  digit: /[0-9]/,
  lower: /[a-z]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t-\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** A set such as `[a-z]`, `[!0-9]` or `[[:alpha:]_]`, and where it ends. */
function setAt(pattern: string, start: number): { readonly characters: ReadonlySet<string>; readonly end: number } | undefined {
  let at = start + 1;
  const isNegated = pattern[at] === '!' || pattern[at] === '^';
  if (isNegated) at++;
  const characters = new Set<string>();
  for (let isFirst = true; pattern[at] !== ']' || isFirst; isFirst = false) {
    const named = /^\[:([a-z]+):\]/.exec(pattern.slice(at, at + 12));
    if (named !== null) {
      const kind = classes[named[1]!];
      if (kind === undefined) return undefined;
      for (const one of everyByte) if (kind.test(one)) characters.add(one);
      at += named[0].length;
      continue;
    }
    const from = characterAt(pattern, at);
    if (from === undefined) return undefined;
    at = from.next;
    const isRange = pattern[at] === '-' && pattern[at + 1] !== ']' && at + 1 < pattern.length;
    const to = isRange ? characterAt(pattern, at + 1) : from;
    if (to === undefined) return undefined;
    at = to.next;
    for (let code = from.code; code <= to.code; code++) characters.add(String.fromCharCode(code));
  }
  return { characters: isNegated ? new Set(everyByte.filter((one) => !characters.has(one))) : characters, end: at };
}

function characterAt(pattern: string, at: number): { readonly code: number; readonly next: number } | undefined {
  const start = pattern[at] === '\\' ? at + 1 : at;
  return start < pattern.length ? { code: pattern.charCodeAt(start), next: start + 1 } : undefined;
}

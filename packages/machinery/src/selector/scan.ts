export type TokenType = 'end' | 'identifier' | 'in' | 'notin' | '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '>' | '<';

export interface Token {
  readonly type: TokenType;
  readonly text: string;
}

const symbols = new Set(['(', ')', ',', '!', '=', '==', '!=', '>', '<']);

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n';
}

function isSymbol(character: string | undefined): boolean {
  return character !== undefined && '=!(),><'.includes(character);
}

/** Splits a label selector into words and symbols; the last token is `end`. As in Kubernetes, a NUL ends the text. */
export function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (true) {
    while (isSpace(text[position])) position++;
    const first = text[position];
    if (first === undefined || first === '\0') break;
    const start = position;
    if (isSymbol(first)) {
      position += symbols.has(text.slice(position, position + 2)) ? 2 : 1;
      const symbol = text.slice(start, position);
      tokens.push({ type: symbol as TokenType, text: symbol });
      continue;
    }
    while (position < text.length && text[position] !== '\0' && !isSpace(text[position]) && !isSymbol(text[position])) position++;
    const word = text.slice(start, position);
    tokens.push({ type: word === 'in' || word === 'notin' ? word : 'identifier', text: word });
  }
  tokens.push({ type: 'end', text: '' });
  return tokens;
}

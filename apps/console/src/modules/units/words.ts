/** A text that is no sequence of words. */
export class WordsError extends Error {
  override readonly name = 'WordsError';
}

/** Splits a text into words as a shell would, without expanding anything. Throws a WordsError if a quote is not closed. */
export function wordsIn(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else if (character === '\\' && quote === '"' && /["\\$`]/.test(text[at + 1] ?? '')) word = (word ?? '') + text[++at];
      else word = (word ?? '') + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= '';
    } else if (character === '\\' && at + 1 < text.length) {
      word = (word ?? '') + text[++at];
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== undefined) throw new WordsError(`the quote ${quote} is not closed`);
  return word === undefined ? words : [...words, word];
}

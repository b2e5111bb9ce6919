import type { RE2JS } from 're2js';
import { spend, spendText } from '../work/steps.ts';

/** RE2 remembers which instructions it has tried at which character, if there are at most so many pairs. Then it tries each once. */
const mostPairs = 262_144;
/** Of that memory, which is cleared before each search. */
const pairsPerStep = 512;
/** Of a search that ends at once. */
const stepsPerSearch = 100;

/** A text of which every character that is read counts. Engines that take strings take it for one. */
class CountedText extends String {
  readonly #text: string;
  readonly #stepsPerCharacter: number;

  constructor(text: string, stepsPerCharacter: number) {
    super(text);
    this.#text = text;
    this.#stepsPerCharacter = stepsPerCharacter;
  }

  override charCodeAt(index: number): number {
    spend(this.#stepsPerCharacter);
    return this.#text.charCodeAt(index);
  }

  override indexOf(part: string, from = 0): number {
    const found = this.#text.indexOf(part, from);
    spendText((found < 0 ? this.#text.length : found) - from);
    return found;
  }
}

/**
 * Finds matches of a pattern in a text, one after the other. The steps are those that it takes: a search may end soon, or read all of a long text with hundreds of
 * instructions for each character, which takes seconds.
 */
export function* matchesIn(compiled: RE2JS, text: string): Generator<string, void> {
  const instructions = compiled.programSize();
  const pairs = text.length * instructions;
  const tries = pairs <= mostPairs;
  const matcher = compiled.matcher(new CountedText(text, tries ? 1 : instructions) as unknown as string);
  for (;;) {
    spend(stepsPerSearch + (tries ? pairs / pairsPerStep : 0));
    if (!matcher.find()) return;
    yield matcher.group() ?? '';
  }
}

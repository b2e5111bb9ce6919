/** Editors and terminals use Tab themselves, so people without a pointer need another way out. */
export const leavingWords = (place: 'editor' | 'terminal'): string => `Escape, then Tab, leaves the ${place}.`;

/** In milliseconds: how long after Escape Tab moves the focus. The library of the editor has the same. */
const grace = 2000;
const modifiers: ReadonlySet<string> = new Set(['Shift', 'Control', 'Alt', 'Meta']);

/** Knows when Tab moves the focus out of a terminal, instead of going to the program. */
export class WayOut {
  readonly #now: () => number;
  #until = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether the browser should have the key. The program gets Escape all the same. */
  takes({ type, key }: Pick<KeyboardEvent, 'type' | 'key'>): boolean {
    if (key === 'Tab') return this.#now() < this.#until;
    if (type === 'keydown' && !modifiers.has(key)) this.#until = key === 'Escape' ? this.#now() + grace : 0;
    return false;
  }
}

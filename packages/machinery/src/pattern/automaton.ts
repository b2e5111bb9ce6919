import type { Machine } from './machine.ts';
import { isSurrogate } from './syntax.ts';

/** Above these limits a pattern is left to RE2: the automaton must stay small for any pattern. */
const mostStates = 256;
const mostGroups = 32;

const unknown = -1;
const matched = -2;
const dead = -3;
/** The automaton cannot handle this text or pattern. */
const beyond = -4;

/**
 * Determines whether a text contains a match, in one pass and without backtracking. States are created when a text first needs them. Only
 * handles characters of the Basic Multilingual Plane.
 */
export class Automaton {
  readonly #machine: Machine;
  /** The first characters of the groups that the pattern does not distinguish. */
  readonly #bounds: readonly number[];
  readonly #ascii = new Uint8Array(128);
  /** For each state, the next state for each group of characters. */
  #moves: Int16Array;
  readonly #sets: number[][] = [];
  readonly #ends: (boolean | undefined)[] = [];
  readonly #known = new Map<string, number>();
  readonly #initial: number;
  /** Whether the empty text has a match. */
  readonly #matchesNothing: boolean;

  private constructor(machine: Machine, bounds: readonly number[]) {
    this.#machine = machine;
    this.#bounds = bounds;
    this.#moves = new Int16Array(8 * bounds.length).fill(unknown);
    for (let code = 0; code < 128; code++) this.#ascii[code] = this.#group(code);
    this.#initial = this.#state(this.#closure([machine.first], { isStart: true, isEnd: false }));
    this.#matchesNothing = this.#hasMatch(this.#closure([machine.first], { isStart: true, isEnd: true }));
  }

  /** Undefined for a machine that distinguishes too many characters. */
  static of(machine: Machine): Automaton | undefined {
    const bounds = new Set<number>([0]);
    for (const place of machine.places) {
      if (place.kind !== 'characters') continue;
      for (const [from, to] of place.ranges) {
        bounds.add(from);
        bounds.add(to + 1);
      }
    }
    return bounds.size > mostGroups
      ? undefined
      : new Automaton(
          machine,
          [...bounds].sort((one, other) => one - other),
        );
  }

  /** Undefined if this text must be left to RE2. */
  matches(text: string): boolean | undefined {
    let state = this.#initial;
    if (text === '') return this.#matchesNothing;
    if (state < 0) return state === matched;
    const ascii = this.#ascii;
    const width = this.#bounds.length;
    let moves = this.#moves;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      let group: number;
      if (code < 128) group = ascii[code]!;
      else if (isSurrogate(code)) return undefined;
      else group = this.#group(code);
      const next = moves[state * width + group]!;
      if (next >= 0) {
        state = next;
        continue;
      }
      state = next === unknown ? this.#move(state, group) : next;
      if (state < 0) break;
      moves = this.#moves;
    }
    if (state >= 0) return (this.#ends[state] ??= this.#acceptsEnd(state));
    return state === beyond ? undefined : state === matched;
  }

  #group(code: number): number {
    let low = 0;
    let high = this.#bounds.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#bounds[middle]! <= code) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #move(state: number, group: number): number {
    const character = this.#bounds[group]!;
    const reached: number[] = [];
    for (const at of this.#sets[state]!) {
      const place = this.#machine.places[at]!;
      if (place.kind === 'characters' && place.ranges.some(([from, to]) => from <= character && character <= to)) reached.push(place.next);
    }
    // A match may begin anywhere.
    reached.push(this.#machine.first);
    const next = this.#state(this.#closure(reached, { isStart: false, isEnd: false }));
    this.#moves[state * this.#bounds.length + group] = next;
    return next;
  }

  /** All places reachable without a character, in order; places that need the end of the text are kept before it. */
  #closure(from: readonly number[], { isStart, isEnd }: { isStart: boolean; isEnd: boolean }): number[] {
    const seen = new Set<number>();
    const waiting = [...from];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const place = this.#machine.places[at]!;
      if (place.kind === 'split') waiting.push(...place.next);
      else if (place.kind === 'start' && isStart) waiting.push(place.next);
      else if (place.kind === 'end' && isEnd) waiting.push(place.next);
    }
    const kept = [...seen].filter((at) => this.#isWaiting(at));
    return kept.sort((one, other) => one - other);
  }

  /** Only places that wait for a character or the end, or that are the match, distinguish states. */
  #isWaiting(at: number): boolean {
    const { kind } = this.#machine.places[at]!;
    return kind === 'characters' || kind === 'end' || kind === 'match';
  }

  #state(set: number[]): number {
    if (this.#hasMatch(set)) return matched;
    if (set.length === 0) return dead;
    const key = set.join();
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    if (this.#sets.length >= mostStates) return beyond;
    const state = this.#sets.push(set) - 1;
    this.#makeRoom();
    this.#known.set(key, state);
    return state;
  }

  #makeRoom(): void {
    if (this.#sets.length * this.#bounds.length <= this.#moves.length) return;
    const larger = new Int16Array(this.#moves.length * 2).fill(unknown);
    larger.set(this.#moves);
    this.#moves = larger;
  }

  #acceptsEnd(state: number): boolean {
    return this.#hasMatch(this.#closure(this.#sets[state]!, { isStart: false, isEnd: true }));
  }

  #hasMatch(set: readonly number[]): boolean {
    return set.some((at) => this.#machine.places[at]!.kind === 'match');
  }
}

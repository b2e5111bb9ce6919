import type { KubeObject } from '@capstan/machinery';
import { sameJson } from '@capstan/machinery';
import type { AdmissionRequest } from './admission.ts';

/** Plugins may have to look again at what later ones made of the object. This happens once. */
export class Reinvocation {
  wanted = false;
  isSecondRound = false;
  readonly rounds = new Map<string, Rounds>();
}

/** Which webhooks or policies of one plugin look again at an object, and what it was when they had all seen it. */
export class Rounds {
  readonly #reinvocation: Reinvocation;
  readonly #asked = new Set<string>();
  readonly #again = new Set<string>();
  #seen: KubeObject | undefined;

  private constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** Those of a request; begins one where there is none. */
  static of(request: AdmissionRequest, plugin: string): Rounds {
    const reinvocation = (request.reinvocation ??= new Reinvocation());
    let rounds = reinvocation.rounds.get(plugin);
    if (rounds === undefined) reinvocation.rounds.set(plugin, (rounds = new Rounds(reinvocation)));
    return rounds;
  }

  get isSecond(): boolean {
    return this.#reinvocation.isSecondRound;
  }

  /** At the start of a round: what others changed since the last one is to be looked at again by all. */
  begin(object: KubeObject | undefined): void {
    if (this.isSecond && !sameJson(this.#seen, object)) this.#callAgain();
  }

  /** Whether somebody takes part in this round. Who was not asked in the first is not asked in the second. */
  includes(id: string): boolean {
    return !this.isSecond || this.#again.has(id);
  }

  /** Somebody who wants to look again if need be has seen the object. */
  askedOnce(id: string): void {
    this.#asked.add(id);
  }

  /** The object was changed: everybody who can be asked again and was asked before this moment will be. */
  changed(): void {
    this.#callAgain();
    this.#reinvocation.wanted = true;
  }

  /** At the end of a round. */
  end(object: KubeObject): void {
    if (this.#asked.size + this.#again.size > 0) this.#seen = structuredClone(object);
  }

  #callAgain(): void {
    for (const id of this.#asked) this.#again.add(id);
    this.#asked.clear();
  }
}

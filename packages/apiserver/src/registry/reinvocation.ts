import type { KubeObject } from '@capstan/machinery';
import { sameJson } from '@capstan/machinery';
import type { AdmissionRequest } from './admission.ts';

/** Plugins may have to see the object again after later plugins changed it. This happens once. */
export class Reinvocation {
  wanted = false;
  isSecondRound = false;
  readonly rounds = new Map<string, Rounds>();
}

/** Which webhooks or policies of one plugin run again, and the object as of the end of their last round. */
export class Rounds {
  readonly #reinvocation: Reinvocation;
  readonly #asked = new Set<string>();
  readonly #again = new Set<string>();
  #seen: KubeObject | undefined;

  private constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** The rounds of a plugin in a request; created on first use. */
  static of(request: AdmissionRequest, plugin: string): Rounds {
    const reinvocation = (request.reinvocation ??= new Reinvocation());
    let rounds = reinvocation.rounds.get(plugin);
    if (rounds === undefined) reinvocation.rounds.set(plugin, (rounds = new Rounds(reinvocation)));
    return rounds;
  }

  get isSecond(): boolean {
    return this.#reinvocation.isSecondRound;
  }

  /** Starts a round: if others changed the object since the last one, all run again. */
  begin(object: KubeObject | undefined): void {
    if (this.isSecond && !sameJson(this.#seen, object)) this.#callAgain();
  }

  /** Whether a webhook or policy takes part in this round. Those left out of the first are left out of the second. */
  includes(id: string): boolean {
    return !this.isSecond || this.#again.has(id);
  }

  /** A webhook or policy that allows reinvocation has run. */
  askedOnce(id: string): void {
    this.#asked.add(id);
  }

  /** The object was changed: those that allow reinvocation and ran before will run again. */
  changed(): void {
    this.#callAgain();
    this.#reinvocation.wanted = true;
  }

  /** Ends a round. */
  end(object: KubeObject): void {
    if (this.#asked.size + this.#again.size > 0) this.#seen = structuredClone(object);
  }

  #callAgain(): void {
    for (const id of this.#asked) this.#again.add(id);
    this.#asked.clear();
  }
}

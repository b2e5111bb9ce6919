import { createHash } from 'node:crypto';
import type { PlannedStep } from './contract.ts';

/** A step whose turn is not decided yet. */
export type Draft = PlannedStep extends infer Step ? (Step extends PlannedStep ? Omit<Step, 'stage'> : never) : never;

/** Puts steps in order. */
export class Stages {
  readonly steps: PlannedStep[] = [];
  #next = 0;

  /** These run side by side, after everything before. */
  stage(...drafts: readonly Draft[]): this {
    if (drafts.length === 0) return this;
    for (const draft of drafts) this.steps.push({ ...draft, stage: this.#next } as PlannedStep);
    this.#next++;
    return this;
  }

  /** A stage whose steps show this phase. */
  inPhase(phase: string, drafts: readonly Draft[]): this {
    return this.stage(...drafts.map((draft) => ({ ...draft, phase })));
  }

  /** Members pass these chains side by side. Each link of a chain is one stage. */
  chains(chains: readonly (readonly (readonly Draft[])[])[]): this {
    const longest = Math.max(0, ...chains.map(({ length }) => length));
    for (let link = 0; link < longest; link++) this.stage(...chains.flatMap((chain) => chain[link] ?? []));
    return this;
  }
}

const mostLetters = 63;

/** Unique within a plan, and the same in each plan. */
export function stepId(verb: string, member: { readonly name: string }): string {
  const id = `${verb}-${member.name}`;
  if (id.length <= mostLetters) return id;
  return `${id.slice(0, mostLetters - 9)}-${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
}

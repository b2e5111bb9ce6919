import { BoundedMap } from '@capstan/machinery';
import type { AdapterProbe } from '../adapter/contract.ts';
import type { KeptPlan, Output } from '../operations/scene.ts';

const mostOutputs = 4_096;
const mostProbes = 10_000;
const mostPlans = 64;

/** Answers that need not be asked for again. Nothing depends on them: a new process asks again. */
export class Memory {
  /** Outputs of ended attempts, which do not change any more. */
  readonly outputs = new BoundedMap<string, Output>(mostOutputs);
  /** Kept plans, by the UID of their operation. They never change. */
  readonly plans = new BoundedMap<string, KeptPlan>(mostPlans);
  readonly #probes = new BoundedMap<string, AdapterProbe | null>(mostProbes);

  probe(instance: string, member: string, ask: () => AdapterProbe | undefined): AdapterProbe | undefined {
    const key = `${instance}/${member}`;
    const known = this.#probes.get(key);
    if (known !== undefined && known !== null) return known;
    const answer = ask();
    if (answer !== undefined) this.#probes.set(key, answer);
    return answer;
  }

  /** Forgets the probes of an instance whose App or members have changed. */
  forget(instance: string, members: Iterable<string>): void {
    for (const member of members) this.#probes.delete(`${instance}/${member}`);
  }
}

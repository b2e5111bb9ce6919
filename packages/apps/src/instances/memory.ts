import { BoundedMap } from '@capstan/machinery';
import type { AdapterProbe, ProbeAnswer } from '../adapter/contract.ts';
import type { KeptPlan, Output } from '../operations/scene.ts';

const mostOutputs = 4_096;
const mostProbes = 10_000;
const mostPlans = 64;

/** Answers that need not be asked for again. Nothing depends on them: a new process asks again. */
export class Memory {
  /** Outputs of ended attempts, which do not change any more. */
  readonly outputs = new BoundedMap<string, Output>(mostOutputs);
  /** The last answer of each probe, by the UID of its task: it counts while the next attempt runs. */
  readonly answers = new BoundedMap<string, ProbeAnswer>(mostProbes);
  /** Kept plans, by the UID of their operation. They never change. */
  readonly plans = new BoundedMap<string, KeptPlan>(mostPlans);
  readonly #probes = new BoundedMap<string, AdapterProbe>(mostProbes);

  /** The probe of a member that its adapter wants, or wanted last if it cannot be asked. */
  probe(instance: string, member: string, wanted: AdapterProbe | undefined): AdapterProbe | undefined {
    const key = `${instance}/${member}`;
    if (wanted === undefined) return this.#probes.get(key);
    this.#probes.set(key, wanted);
    return wanted;
  }
}

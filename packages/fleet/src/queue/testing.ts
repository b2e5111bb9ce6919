import { FleetIndex } from '../placement/fleet-index.ts';
import type { FleetNode, PlacedPart } from '../placement/node.ts';
import type { Hold } from './hold.ts';
import { type Grant, type PassResult, type QueueRules, runPass } from './pass.ts';
import type { Reservation } from './reservation.ts';
import { addUsage, noUsage, type Usage, type Waiting } from './waiting.ts';

/** A fleet with a queue, in which time only moves when a test says so. */
export class QueueBench {
  readonly index = new FleetIndex();
  readonly running = new Map<string, { readonly waiting: Waiting; readonly parts: readonly PlacedPart[]; readonly began: number }>();
  readonly weights = new Map<string, number>();
  readonly #rules: QueueRules;
  readonly #totals: Usage;
  waiting: Waiting[] = [];
  reservations: Reservation[] = [];
  holds: readonly Hold[] = [];
  admit: (grant: Grant) => boolean = () => true;
  now = 0;

  constructor(nodes: readonly FleetNode[], rules: Partial<QueueRules> = {}) {
    for (const node of nodes) this.index.setNode(node);
    const sum = (amount: (node: FleetNode) => number): number => nodes.reduce((total, node) => total + amount(node), 0);
    this.#totals = { gpus: sum(({ gpus }) => gpus.length), cpu: sum(({ cpu }) => cpu), memory: sum(({ memory }) => memory) };
    this.#rules = { holdAfter: 100, holdFor: 1_000, mostHolds: 1, ...rules };
  }

  add(id: string, request: Waiting['request'], rest: Partial<Waiting> = {}): void {
    this.waiting.push({ id, tenant: 'tenant', priority: 0, since: this.now, request, ...rest });
  }

  /** Returns the ids of the requests that were granted, in order. */
  pass(): string[] {
    const { now, waiting, holds, reservations, weights, admit } = this;
    const result: PassResult = runPass(this.index, {
      now,
      rules: this.#rules,
      waiting,
      holds,
      reservations,
      usage: this.#usage(),
      totals: this.#totals,
      weights,
      admit,
    });
    this.holds = result.holds;
    const granted = new Set(result.grants.map(({ waiting: one }) => one.id));
    this.waiting = waiting.filter(({ id }) => !granted.has(id));
    for (const { waiting: one, placement } of result.grants) this.running.set(one.id, { waiting: one, parts: placement.parts, began: now });
    return [...granted];
  }

  finish(id: string): void {
    for (const { node } of this.running.get(id)!.parts) this.index.free(id, node);
    this.running.delete(id);
  }

  #usage(): Map<string, Usage> {
    const usage = new Map<string, Usage>();
    for (const { waiting, parts } of this.running.values())
      usage.set(waiting.tenant, addUsage(usage.get(waiting.tenant) ?? noUsage, parts));
    return usage;
  }
}

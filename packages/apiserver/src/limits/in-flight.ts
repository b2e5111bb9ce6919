import type { User } from '@capstan/api';
import type { Level, Line } from './line.ts';
import { Places, type RequestClass } from './places.ts';

type PerClass = Readonly<Partial<Record<RequestClass, number>>>;

export interface InFlightOptions extends PerClass {
  /** How many places one user of a workspace may hold: by default half of all. */
  readonly perUser?: PerClass;
  /** The places of kubelets and node agents, beside those of everybody else: by default half as many. */
  readonly agents?: PerClass;
  /** How many requests of people, and how many of agents, may wait, in total and in one line. Each keeps its buffered body in memory. */
  readonly maxWaiting?: number;
  readonly maxWaitingPerLine?: number;
  readonly maxWaitMilliseconds?: number;
  /** The limit on all running requests of both classes, which applies even to system:masters. */
  readonly absolute?: number;
  readonly now?: () => number;
}

export interface InFlightState {
  readonly running: Readonly<Record<RequestClass, number>>;
  readonly waiting: number;
  readonly rejected: number;
}

/** How many requests of each class run at once. */
const usual: Readonly<Record<RequestClass, number>> = { readonly: 400, mutating: 200 };

/** Limits how many requests run at once: those of people and those of agents in places of their own. */
export class InFlight {
  readonly #levels: Readonly<Record<Level, Places>>;
  /** How many requests of both levels and classes run at once. */
  readonly capacity: number;

  constructor(options: InFlightOptions = {}) {
    const people = { readonly: options.readonly ?? usual.readonly, mutating: options.mutating ?? usual.mutating };
    const agents = {
      readonly: options.agents?.readonly ?? Math.ceil(people.readonly / 2),
      mutating: options.agents?.mutating ?? Math.ceil(people.mutating / 2),
    };
    const placesOf = (capacities: Readonly<Record<RequestClass, number>>): Places => {
      const pool = (kind: RequestClass) => ({
        capacity: capacities[kind],
        perUser: options.perUser?.[kind] ?? Math.ceil(capacities[kind] / 2),
      });
      return new Places({
        pools: { readonly: pool('readonly'), mutating: pool('mutating') },
        maxWaiting: options.maxWaiting ?? 10_000,
        maxWaitingPerLine: options.maxWaitingPerLine ?? 5_000,
        maxWaitMilliseconds: options.maxWaitMilliseconds ?? 30_000,
        absolute: options.absolute ?? 4_000,
        now: options.now ?? Date.now,
      });
    };
    this.#levels = { people: placesOf(people), agents: placesOf(agents) };
    this.capacity = people.readonly + people.mutating + agents.readonly + agents.mutating;
  }

  /**
   * Takes a place: at once (returns undefined), or when the promise resolves. Throws or rejects with TooManyRequests if none becomes
   * available. Every caller that gets a place must call `leave`.
   */
  enter(line: Line, user: User, kind: RequestClass): undefined | Promise<void> {
    return this.#levels[line.level].enter(line, user, kind);
  }

  leave(line: Line, kind: RequestClass): void {
    this.#levels[line.level].leave(line, kind);
  }

  get state(): InFlightState {
    const { people, agents } = this.#levels;
    const running = (kind: RequestClass): number => people.running(kind) + agents.running(kind);
    return {
      running: { readonly: running('readonly'), mutating: running('mutating') },
      waiting: people.waiting + agents.waiting,
      rejected: people.rejected + agents.rejected,
    };
  }
}

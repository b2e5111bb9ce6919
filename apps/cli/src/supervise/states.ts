import type { HealthCheck, Port } from './description.ts';

/** Where a process is in its life. Times are in RFC 3339. */
export type Phase =
  /** For other processes to become ready. */
  | { readonly phase: 'waiting'; readonly waitsFor: readonly string[] }
  | { readonly phase: 'starting'; readonly pid: number; readonly startedAt: string }
  | {
      readonly phase: 'ready';
      readonly pid: number;
      readonly startedAt: string;
      readonly ports: readonly Port[];
      readonly health?: HealthCheck;
    }
  /** It ended, and is started again at this time. */
  | { readonly phase: 'restarting'; readonly at: string }
  | { readonly phase: 'stopped' };

export interface ProcessState {
  readonly name: string;
  readonly optional: boolean;
  readonly current: Phase;
  readonly restarts: number;
  readonly lastError?: { readonly time: string; readonly message: string };
}

/** The states of all processes. `onChange` is called after each change. */
export class ProcessStates {
  readonly #states = new Map<string, ProcessState>();
  readonly #onChange: (states: readonly ProcessState[]) => void;

  constructor(onChange: (states: readonly ProcessState[]) => void) {
    this.#onChange = onChange;
  }

  add({ name, optional }: Pick<ProcessState, 'name' | 'optional'>): void {
    this.#states.set(name, { name, optional, current: { phase: 'stopped' }, restarts: 0 });
  }

  get list(): readonly ProcessState[] {
    return [...this.#states.values()];
  }

  set(name: string, current: Phase): void {
    this.#change(name, { current });
  }

  /** The process ended, and will be started again. */
  failed(name: string, { message, at, now }: { readonly message: string; readonly at: Date; readonly now: Date }): void {
    const { restarts } = this.#states.get(name)!;
    this.#change(name, {
      current: { phase: 'restarting', at: at.toISOString() },
      restarts: restarts + 1,
      lastError: { time: now.toISOString(), message },
    });
  }

  #change(name: string, change: Partial<ProcessState>): void {
    this.#states.set(name, { ...this.#states.get(name)!, ...change });
    this.#onChange(this.list);
  }
}

import type { Condition } from '@capstan/api';
import { humanDuration } from '@capstan/machinery';
import { type Moment, passedBetween } from '../time/moment.ts';

/** Why nothing was heard of a node for some time. */
export type ReachableReason =
  | 'MachineRestarted'
  | 'AgentRestarted'
  | 'Suspended'
  | 'NoConnection'
  | 'ControlPlaneDown'
  | 'ControlPlaneRestored';

export interface InterruptionsOptions {
  /** The last contact of the agents before this one, as far as it is known. */
  readonly last: Moment | undefined;
  /** In milliseconds: shorter silences are not reported. */
  readonly noticeable: number;
  readonly onChange: () => void;
}

/** In milliseconds: a clock that is corrected jumps by less. */
const smallestJump = 10_000;
/** In milliseconds: how long a jump of the clock is reported. */
const jumpLasts = 3_600_000;

/**
 * Tells silences of this node apart when they are over. The control plane sees the same silence if the agent was killed or suspended, the machine restarted or the network was cut; the agent knows which of them
 * it was.
 */
export class Interruptions {
  readonly #options: InterruptionsOptions;
  readonly #conditions = new Map<string, Condition>();
  #last: Moment | undefined;
  #isFirst = true;
  /** Of the first request that failed since the last contact. */
  #failure: string | undefined;
  #wasDown = false;
  /** How long this process did not run since the last contact, in milliseconds, and the last time at which it began to run again, as the uptime of the machine. */
  #stalled = 0;
  #resumed = 0;
  #jumped: Moment | undefined;

  constructor(options: InterruptionsOptions) {
    this.#options = options;
    this.#last = options.last;
  }

  /** For the status of the GPUNode. */
  get conditions(): readonly Condition[] {
    return [...this.#conditions.values()];
  }

  /** Called in regular intervals, with the uptimes of the machine at the last call and at this one; all in milliseconds. A process that does not run is late. */
  ticked(last: number, now: number, interval: number): void {
    if (now - last <= 2 * interval) return;
    this.#stalled += now - last - interval;
    this.#resumed = now;
  }

  /** The control plane did not answer. `isDown`: its machine says that nothing listens there. */
  failed(why: string, { isDown = false }: { readonly isDown?: boolean } = {}): void {
    this.#failure ??= why;
    this.#wasDown ||= isDown;
  }

  /** The control plane has answered a request that was sent at this time. */
  reached(at: Moment, { isRestored = false }: { readonly isRestored?: boolean } = {}): void {
    const last = this.#last;
    const silence = last === undefined ? 0 : passedBetween(last, at);
    if (isRestored) this.#explain(at, silence, ['ControlPlaneRestored', 'the control plane was restored from a snapshot']);
    else if (last !== undefined && silence > this.#options.noticeable) this.#explain(at, silence, this.#cause(last, at, silence));
    this.#judgeClock(last, at);
    this.#last = at;
    this.#isFirst = false;
    this.#failure = undefined;
    this.#wasDown = false;
    // A process that was suspended while it waited for this answer was so after the contact, and explains the silence until the next one.
    this.#stalled = Math.min(this.#stalled, Math.max(0, this.#resumed - at.uptime));
  }

  #explain(at: Moment, silence: number, [reason, words]: readonly [ReachableReason, string]): void {
    const message = `nothing was heard of this node for ${humanDuration(silence)}, until ${timeOf(at)}: ${words}`.slice(0, 4096);
    this.#set({ type: 'Reachable', status: 'True', reason, message, lastTransitionTime: timeOf(at) });
  }

  #cause(last: Moment, at: Moment, silence: number): [reason: ReachableReason, words: string] {
    if (last.boot !== at.boot) return ['MachineRestarted', 'the machine restarted'];
    const away = `the control plane could not be reached: ${this.#failure ?? 'it did not answer in time'}`;
    if (this.#isFirst)
      return ['AgentRestarted', this.#failure === undefined ? 'the agent did not run' : `the agent did not run, and then ${away}`];
    if (this.#stalled >= silence / 2) return ['Suspended', 'the agent was suspended, or the machine was too busy to run it'];
    return this.#wasDown ? ['ControlPlaneDown', `no server of the control plane ran: ${this.#failure}`] : ['NoConnection', away];
  }

  #judgeClock(last: Moment | undefined, at: Moment): void {
    const jump = last === undefined || last.boot !== at.boot ? 0 : at.wall - last.wall - (at.uptime - last.uptime);
    if (Math.abs(jump) > smallestJump) {
      this.#jumped = at;
      const message = `the clock of this machine jumped by ${humanDuration(Math.abs(jump))} ${jump > 0 ? 'forward' : 'back'}`;
      this.#set({ type: 'ClockSteady', status: 'False', reason: 'ClockJumped', message, lastTransitionTime: timeOf(at) });
    } else if (this.#jumped !== undefined && passedBetween(this.#jumped, at) > jumpLasts) {
      this.#jumped = undefined;
      const message = 'the clock of this machine has not jumped for an hour';
      this.#set({ type: 'ClockSteady', status: 'True', reason: 'Steady', message, lastTransitionTime: timeOf(at) });
    }
  }

  #set(condition: Condition): void {
    this.#conditions.set(condition.type, condition);
    this.#options.onChange();
  }
}

const timeOf = ({ wall }: Moment): string => `${new Date(wall).toISOString().slice(0, 19)}Z`;

import { uptime } from 'node:os';
import { bootId } from '../processes/proc.ts';

/** A point in time that survives restarts of the agent and changes of the clock, but not of the machine. */
export interface Moment {
  readonly wall: number;
  readonly boot: string;
  /** In milliseconds since the machine started. */
  readonly uptime: number;
}

export async function momentNow(): Promise<Moment> {
  return { wall: Date.now(), boot: await bootId(), uptime: uptime() * 1_000 };
}

/** How much later one moment is than another, in milliseconds: by the clock only if the machine restarted between them. */
export function passedBetween(since: Moment, now: Moment): number {
  return Math.max(0, now.boot === since.boot ? now.uptime - since.uptime : now.wall - since.wall);
}

import type { BoxState } from './dialect.ts';

/** A container as both engines describe it. */
export interface Inspected {
  readonly Id: string;
  readonly State: {
    readonly Status: string;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly Config: { readonly Tty: boolean; readonly Labels?: Readonly<Record<string, string>> | null };
}

export function stateOf({ Id, State, Config }: Inspected): BoxState {
  return {
    id: Id,
    phase: phaseOf(State.Status),
    pid: State.Pid,
    code: State.ExitCode,
    outOfMemory: State.OOMKilled,
    startedAt: State.StartedAt,
    finishedAt: State.FinishedAt,
    tty: Config.Tty,
    labels: Config.Labels ?? {},
  };
}

/** States as engines print them. */
function phaseOf(status: string): BoxState['phase'] {
  if (['running', 'paused', 'stopping', 'restarting'].includes(status)) return 'running';
  return ['exited', 'stopped', 'dead', 'removing'].includes(status) ? 'ended' : 'created';
}

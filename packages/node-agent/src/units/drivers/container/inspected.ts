import { dirname } from 'node:path';
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
  readonly Mounts?: readonly { readonly Type: string; readonly Source: string }[] | null;
  readonly GraphDriver?: { readonly Data?: { readonly UpperDir?: string } | null } | null;
}

export function stateOf({ Id, State, Config, GraphDriver, Mounts }: Inspected): BoxState {
  const upper = GraphDriver?.Data?.UpperDir;
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
    volumes: (Mounts ?? []).filter(({ Type }) => Type === 'volume').map(({ Source }) => Source),
    // Beside it are other folders of the layer, which must be on the same file system.
    ...(upper !== undefined && upper !== '' && { layer: dirname(upper) }),
  };
}

/** States as engines print them. */
function phaseOf(status: string): BoxState['phase'] {
  if (['running', 'paused', 'stopping', 'restarting'].includes(status)) return 'running';
  return ['exited', 'stopped', 'dead', 'removing'].includes(status) ? 'ended' : 'created';
}

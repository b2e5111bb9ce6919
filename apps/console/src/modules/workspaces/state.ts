import { ownerAnnotation, ownerName, type Workspace } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';

export interface WorkspaceState {
  readonly tone: Tone;
  readonly word: string;
  readonly reason: string;
}

export function stateOf({ metadata, status }: Workspace): WorkspaceState {
  const open = (status?.conditions ?? []).find((condition) => condition.status === 'False');
  const reason = open === undefined ? '' : (open.message ?? open.reason ?? open.type);
  if (metadata.deletionTimestamp !== undefined) return { tone: 'busy', word: 'Deleting', reason };
  const phase = status?.phase ?? 'Scheduling';
  return {
    tone: phase === 'Ready' ? 'good' : phase === 'Unavailable' ? 'bad' : 'busy',
    word: phase,
    reason: phase === 'Ready' ? '' : reason,
  };
}

export const createdBy = ({ metadata }: Workspace): string | undefined => ownerName(metadata.annotations?.[ownerAnnotation]);

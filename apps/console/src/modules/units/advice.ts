import type { GPUUnit } from '@capstan/api';
import { conditionOf, membersOf } from './state.ts';

/** Where something can be done about a unit that does not run as it should. */
export type AdvicePlace = 'logs' | 'queue' | 'limits' | 'workspace' | 'storage' | 'fleet' | 'new' | 'detail';

export interface Advice {
  readonly text: string;
  readonly place: AdvicePlace;
  /** The words on the button. */
  readonly action: string;
}

const inLogs: Advice = { text: 'The whole output may say more.', place: 'logs', action: 'Open logs' };

const byReason: Readonly<Record<string, Advice>> = {
  OutOfMemory: {
    text: 'Ask for more memory in a new unit, or let it use less.',
    place: 'logs',
    action: 'Open logs',
  },
  DiskFull: { text: 'The disk is full. Write large files to a storage.', place: 'logs', action: 'Open logs' },
  BadCommand: { text: 'The command could not be started. Check its path and the image.', place: 'logs', action: 'Open logs' },
  ImageMissing: { text: 'The image does not exist, or needs a pull secret.', place: 'detail', action: 'Open' },
  RegistryRefused: { text: 'The registry wants other credentials. Name a pull secret.', place: 'detail', action: 'Open' },
  RegistryUnavailable: { text: 'The registry does not answer. The node tries again by itself.', place: 'detail', action: 'Open' },
  TimeLimit: { text: 'It reached its time limit. Raise maxDuration and start it again.', place: 'detail', action: 'Open' },
  Idle: { text: 'It was idle for longer than idleTimeout.', place: 'detail', action: 'Open' },
};

const byShortage: Readonly<Record<string, Advice>> = {
  Shortage: { text: 'It starts as soon as a node has room for it.', place: 'queue', action: 'See the queue' },
  QuotaExceeded: {
    text: 'Stop something else, or ask the owner of the platform for a higher limit.',
    place: 'limits',
    action: 'See the limits',
  },
  OfferingNotFound: { text: 'Choose an offering that exists, in a new unit.', place: 'new', action: 'New unit' },
  WorkspaceUnknown: {
    text: 'The platform may not read the path of this workspace: accept its claim on LogicalClusters.',
    place: 'workspace',
    action: 'See the workspace',
  },
};

/** The next thing to do about a unit that waits, failed or is silent; undefined if there is nothing to do. */
export function adviceFor(unit: GPUUnit): Advice | undefined {
  switch (unit.status?.phase) {
    case undefined:
    case 'Pending':
      return waitingAdvice(unit);
    case 'Failed': {
      const reason = membersOf(unit).find((member) => member.reason !== undefined && member.reason !== 'Completed')?.reason;
      return byReason[reason ?? ''] ?? inLogs;
    }
    case 'Starting': {
      const reason = membersOf(unit).find((member) => member.reason !== undefined)?.reason;
      return byReason[reason ?? ''];
    }
    case 'Unknown':
      return {
        text: 'Its node is silent, so nothing is started elsewhere. It goes on when the node is back.',
        place: 'fleet',
        action: 'See the node',
      };
    case 'Running':
      return conditionOf(unit, 'Ready')?.status === 'False' ? inLogs : undefined;
    default:
      return undefined;
  }
}

function waitingAdvice(unit: GPUUnit): Advice | undefined {
  if (conditionOf(unit, 'Configured')?.status === 'False')
    return { text: 'Create what is missing, or change the unit. It starts by itself then.', place: 'detail', action: 'Open' };
  if (conditionOf(unit, 'StoragesReady')?.status === 'False')
    return { text: 'It starts as soon as its storage is ready.', place: 'storage', action: 'See storages' };
  return (
    byShortage[conditionOf(unit, 'Allocated')?.reason ?? ''] ?? { text: 'It starts by itself.', place: 'queue', action: 'See the queue' }
  );
}

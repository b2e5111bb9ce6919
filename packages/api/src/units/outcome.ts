import { timestamp } from '../definition/common.ts';
import { choice, flag, integer, list, object, optional, type ReadOf, text } from '../definition/schema.ts';

/** How the program of a unit runs on one node. The agent reports it, and the GPUUnit repeats it. */

/** Why a program does not run, for programs. People read the message. */
export const unitReasons = [
  'Completed',
  'Error',
  'OutOfMemory',
  'DiskFull',
  'BadCommand',
  'ImageMissing',
  'RegistryUnavailable',
  'RegistryRefused',
  'DriverUnavailable',
  'NetworkUnavailable',
  'DeviceUnavailable',
  'StorageUnavailable',
  'SecretsMissing',
  'UploadMissing',
  'Unhealthy',
  'Stopped',
  'TimeLimit',
  'Idle',
  'Fenced',
  'MachineRestarted',
  'Lost',
] as const;
export type UnitReason = (typeof unitReasons)[number];

export const outcomeFields = {
  pid: optional(integer('Process of the program on the node.', { minimum: 1 })),
  container: optional(text('Id of the container, if the unit has an image.', { maxLength: 128 })),
  address: optional(text('Address of the unit in the network of its node.', { maxLength: 63 })),
  startedAt: optional(timestamp('Time at which the program was last started.')),
  finishedAt: optional(timestamp('Time at which it ended.')),
  exitCode: optional(integer('Its exit code; 128 and more after a signal.')),
  reason: optional(choice('Why it does not run.', [...unitReasons])),
  message: optional(text('Details for people.', { maxLength: 4096 })),
  ready: optional(flag('Whether the program is ready.')),
  restarts: optional(integer('How often it was started again.', { minimum: 0 })),
  lastLines: optional(list('The end of its output, once it has ended.', text('One line.', { maxLength: 1024 }), { maxItems: 10 })),
};

const outcomeShape = object('How the program runs.', outcomeFields);
export type UnitOutcome = ReadOf<typeof outcomeShape>;

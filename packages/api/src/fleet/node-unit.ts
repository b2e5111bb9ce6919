import { duration, immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, keyedList, list, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { sharedDirectory } from '../storages/shared-directory.ts';
import { outcomeFields } from '../units/outcome.ts';
import { hasProgram, programFields } from '../units/program.ts';
import { fleetGroup } from './fields.ts';

/**
 * `Waiting`: for secrets or an upload. `Preparing`: pulls an image or sets up its room. `Warm`: prepared, and nothing will start. `Restarting`: waits before the next start. `Ended`: will not
 * run again. `Lost`: the agent cannot say how it ended, such as after a restart of the machine.
 */
export const nodeUnitPhases = ['Pending', 'Waiting', 'Preparing', 'Warm', 'Running', 'Restarting', 'Stopping', 'Ended', 'Lost'] as const;
export type NodeUnitPhase = (typeof nodeUnitPhases)[number];

/** The phases in which nothing of the unit runs, and nothing will. */
export const finalNodeUnitPhases: ReadonlySet<string> = new Set<NodeUnitPhase>(['Ended', 'Lost']);

const owner = object(
  'The GPUUnit that the unit runs for.',
  {
    cluster: text('Id of its workspace.', { minLength: 1, maxLength: 253 }),
    namespace: text('Its namespace.', { minLength: 1, maxLength: 63 }),
    name: objectName('Its name. The Pod that shows it has the same.'),
    uid: text('Its UID.', { minLength: 1, maxLength: 64 }),
  },
  { rules: [immutable] },
);

const peer = object('One node of the unit.', {
  rank: integer('Its rank.', { minimum: 0 }),
  address: text('Its address.', { maxLength: 253 }),
});

const attachment = object('Where a storage is on this node.', {
  storage: objectName('Name of the storage, as in `mounts`.'),
  uid: text('UID of the GPUStorage.', { minLength: 1, maxLength: 64 }),
  directory: optional(sharedDirectory('The shared directory that has it.')),
});

export const nodeUnitKind = defineKind({
  group: fleetGroup,
  kind: 'NodeUnit',
  plural: 'nodeunits',
  categories: ['capstan'],
  scope: 'Namespaced',
  description:
    'One start of a GPUUnit on one node, in the namespace of that node. The agent runs it until it ends or `stopped` is set. It is never started twice: another start is ' +
    'another NodeUnit.',
  versions: {
    v1alpha1: {
      spec: object(
        'The program and its part of the node.',
        {
          owner,
          run: integer('Counts the starts of the GPUUnit.', { minimum: 1, rules: [immutable] }),
          allocation: text('UID of the Allocation.', { minLength: 1, maxLength: 64, rules: [immutable] }),
          devices: list('UUIDs of the GPUs, or of their MIG instances. No others can be used.', text('UUID.', { maxLength: 128 }), {
            maxItems: 1024,
            rules: [immutable],
          }),
          cpu: integer('Limit of processor time, in thousandths of a core; 0 means the whole node.', { minimum: 0, rules: [immutable] }),
          memory: integer('Limit of memory, in bytes; 0 means the whole node.', { minimum: 0, rules: [immutable] }),
          exclusive: withDefault(flag('Whether nobody else uses the node.'), false),
          rank: withDefault(integer('Rank among the nodes of the unit.', { minimum: 0 }), 0),
          peers: optional(keyedList('All nodes of the unit, if there are several.', peer, { keys: ['rank'], maxItems: 1024 })),
          ...programFields,
          storages: optional(keyedList('The storages of `mounts`.', attachment, { keys: ['storage'], maxItems: 16 })),
          upload: withDefault(flag('Whether the program waits for files, which replace the directory of uploaded files.'), false),
          secrets: withDefault(flag('Whether the program waits for values of variables through `nodeunits/secrets`.'), false),
          warm: optional(flag('Prepares the node for a program like this one, and never starts it.')),
          stopped: withDefault(flag('Ends the program.'), false),
          stopReason: optional(choice('Why it was stopped.', ['Stopped', 'TimeLimit', 'Idle'])),
          idleTimeout: optional(
            duration('As in the GPUUnit at its start: the agent reports sooner that a program is idle if this is short.'),
          ),
          fenceAfter: optional(
            duration('The agent ends the program after so much time without the control plane, so that it can be started elsewhere.'),
          ),
        },
        { rules: [hasProgram] },
      ),
      status: object('How the program runs. The agent reports it.', {
        phase: withDefault(choice('How far the unit is.', [...nodeUnitPhases]), 'Pending'),
        observedGeneration: optional(integer('Generation that the status describes.', { minimum: 0 })),
        driver: optional(choice('Driver that runs it.', ['exec', 'container'])),
        step: optional(text('The current step, such as the progress of a pull.', { maxLength: 256 })),
        idleSince: optional(
          timestamp(
            'Time since which its GPUs, or its processor without any, have done nothing. Reported after five minutes, or after `idleTimeout` if that is shorter.',
          ),
        ),
        ...outcomeFields,
      }),
      columns: [
        { name: 'Unit', type: 'string', path: '.spec.owner.name' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Reason', type: 'string', path: '.status.reason' },
        { name: 'Exit', type: 'integer', path: '.status.exitCode' },
        { name: 'Restarts', type: 'integer', path: '.status.restarts', priority: 1 },
      ],
    },
  },
});

export type NodeUnit = ObjectOf<typeof nodeUnitKind>;
export type NodeUnitSpec = NodeUnit['spec'];
export type NodeUnitStatus = NonNullable<NodeUnit['status']>;
export type UnitOwner = ReadOf<typeof owner>;

/** The name of the NodeUnit of a start, on every node that takes part. */
export function nodeUnitName(unitUid: string, run: number): string {
  return `${unitUid}-${run}`;
}

/** The containers of the Pod that shows a unit: the program, and the one that waits for uploaded files and reads a gzipped tar archive from its input. */
export const unitContainer = 'unit';
export const uploadContainer = 'upload';

/** The same containers on another node of a unit: `unit-1` and `upload-1` are those on the second. */
export function containerOfRank(container: string, rank: number): string {
  return rank === 0 ? container : `${container}-${rank}`;
}

/** The container on its node, and the rank of the node, of a container of the Pod. */
export function rankOfContainer(name: string): { readonly container: string; readonly rank: number } {
  const [, container, rank] = /^(unit|upload)-([1-9]\d*)$/.exec(name) ?? [];
  return container === undefined ? { container: name, rank: 0 } : { container, rank: Number(rank) };
}

import { conditions, labelName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, keyedList, object, optional, type ReadOf, text } from '../definition/schema.ts';
import { sharedDirectory } from '../storages/shared-directory.ts';
import { fleetGroup, keyHash } from './fields.ts';
import { nodeAddresses, nodeDrivers, nodeGpus, nodeMachine, nodeUnitDrivers } from './node-inventory.ts';

const identity = object('Identity of the agent on the node. Only the API server writes it.', {
  generation: integer('Number of keys that the node has had.', { minimum: 1 }),
  currentKey: keyHash('Hash of the current public key of the agent.'),
  previousKey: optional(keyHash('Hash of the key before it. It is still accepted, so that a renewal interrupts nothing.')),
  enrollment: text('UID of the NodeEnrollment with which this identity began.', { maxLength: 64 }),
  renewedAt: timestamp('Time at which the current key was accepted.'),
  expiresAt: timestamp('Time at which the newest certificate expires.'),
  authority: optional(keyHash('Hash of the public key of the authority above the newest certificate.')),
  locked: optional(
    object('Set when two machines have used this identity. Neither is accepted until the node is enrolled again.', {
      reason: text('Why the node is locked.', { maxLength: 1024 }),
      at: timestamp('Time at which it was locked.'),
    }),
  ),
});

const agent = object('Version of the agent on the node.', {
  upgrades: optional(
    choice('`Automatic`: the agent follows the version of the control plane. `Manual`, the default: it changes to `version` only.', [
      'Automatic',
      'Manual',
    ]),
  ),
  version: optional(
    text('Version that the agent should have, such as `0.1.0+3f2a9c41d0be`. The control plane must offer it.', { maxLength: 63 }),
  ),
  requestedAt: optional(timestamp('Time of the request. A later time repeats an upgrade that failed.')),
});

/** The identity of a node's agent. */
export type NodeIdentityStatus = ReadOf<typeof identity>;

export const gpuNodeKind = defineKind({
  group: fleetGroup,
  kind: 'GPUNode',
  plural: 'gpunodes',
  categories: ['capstan'],
  scope: 'Cluster',
  description: 'A machine of the fleet, on which a node agent runs. Deleting it ends the identity of its agent at once.',
  versions: {
    v1alpha1: {
      spec: optional(
        object('How the node should be used.', {
          comment: optional(text('A note for people.', { maxLength: 1024 })),
          pool: optional(labelName('Pool that the node belongs to. Labels of the node are those of its metadata.')),
          unschedulable: optional(flag('Whether the node gets no new allocations. Those that it has stay.')),
          maintenance: optional(flag('Whether people work on the node: it gets no new allocations, and alarms about it are expected.')),
          lost: optional(
            flag(
              'Whether the owner declares that nothing runs on the machine any more, and nothing will: its units are started elsewhere. The machine must be switched off first.',
            ),
          ),
          expectedGPUs: optional(
            keyedList(
              'GPUs that the machine should have. Those that are not there are reported as missing.',
              object('One GPU.', {
                uuid: text('Identifier that the vendor gave it.', { minLength: 1, maxLength: 128 }),
                pciBusId: optional(text('Address on the PCI bus.', { maxLength: 32 })),
              }),
              { keys: ['uuid'], maxItems: 128 },
            ),
          ),
          agent: optional(agent),
        }),
      ),
      status: object('State of the node. Its agent reports all but the identity.', {
        identity: optional(identity),
        machine: optional(nodeMachine),
        gpuSummary: optional(text('GPUs in short, such as `8×H200`.', { maxLength: 253 })),
        gpus: optional(nodeGpus),
        drivers: optional(nodeDrivers),
        unitDrivers: optional(nodeUnitDrivers),
        addresses: optional(nodeAddresses),
        sharedDirectories: optional(
          keyedList('Directories that other nodes have, too: classes of storages.', sharedDirectory('One directory.'), {
            keys: ['name'],
            maxItems: 16,
          }),
        ),
        volumes: optional(
          object('How the node limits the sizes of storages of the class `local`.', {
            limits: choice('`ProjectQuotas` of its file system, `LoopFiles` with file systems of their own, or `None`.', [
              'ProjectQuotas',
              'LoopFiles',
              'None',
            ]),
            message: optional(text('Why it is not a better one.', { maxLength: 1024 })),
          }),
        ),
        conditions: optional(conditions()),
      }),
      rules: [
        {
          rule: "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,56}[a-z0-9])?$')",
          message: 'must have a name of at most 58 lower-case letters, digits and hyphens',
        },
      ],
      columns: [
        { name: 'Pool', type: 'string', path: '.spec.pool' },
        { name: 'GPUs', type: 'string', path: '.status.gpuSummary' },
        { name: 'Ready', type: 'string', path: '.status.conditions[?(@.type=="Ready")].status' },
        { name: 'Agent', type: 'string', path: '.status.machine.agentVersion', description: 'Version of the agent.' },
        { name: 'Generation', type: 'integer', path: '.status.identity.generation', priority: 1 },
        { name: 'Expires', type: 'date', path: '.status.identity.expiresAt', priority: 1 },
        { name: 'Locked', type: 'string', path: '.status.identity.locked.reason', priority: 1 },
      ],
    },
  },
});

/**
 * The platform's controllers write `Ready`, the agent is heard of, and `Clean`, when something of a former allocation remains on the node, or may remain. The agent
 * writes the others. `GPUsHealthy`: no GPU has failed or is missing. `Upgraded`: the agent has the version that was requested; present once one was.
 * `AgentSupported`: the control plane works with the version of the agent.
 */
export const nodeConditions = ['Ready', 'GPUsHealthy', 'Clean', 'Upgraded', 'AgentSupported'] as const;

export type GPUNode = ObjectOf<typeof gpuNodeKind>;

import { type AdapterMember, AdapterProblem, mostSteps, type Plan, type PlanRequest, type WantedSecret } from '../../adapter/contract.ts';
import { snapshotOperations } from './catalog.ts';
import { serversOf } from './config-request.ts';
import { type Distribution, distributionOf } from './distribution.ts';
import { certificateKey } from './kubeadm-config.ts';
import {
  change,
  decommission,
  drainMember,
  type Operation,
  reconcile,
  repair,
  restore,
  rotateCertificates,
  snapshot,
  start,
  stop,
  uncordonMember,
} from './operations.ts';
import { checkUnchanged } from './settings.ts';
import type { Context } from './steps.ts';

/** The server token equals the rights of an administrator, so agents have another one. */
const secrets: readonly WantedSecret[] = [
  { name: 'token', bytes: 32, encoding: 'hex' },
  { name: 'agent-token', bytes: 32, encoding: 'hex' },
];

const secretsOf = ({ needsForming }: Distribution): readonly WantedSecret[] =>
  needsForming ? [...secrets, { name: certificateKey, bytes: 32, encoding: 'hex' }] : secrets;

interface Described {
  readonly operation: Operation;
  /** The phase of steps that have none of their own. */
  readonly during: string;
  /** The phase afterwards. */
  readonly phase: string;
}

const operations: Readonly<Record<string, Described>> = {
  deploy: { operation: change, during: 'placement_validated', phase: 'ready' },
  change: { operation: change, during: 'member_leaving', phase: 'ready' },
  reconcile: { operation: reconcile, during: 'reconciling', phase: 'ready' },
  repair: { operation: repair, during: 'repairing', phase: 'ready' },
  stop: { operation: stop, during: 'stopping', phase: 'stopped' },
  start: { operation: start, during: 'starting', phase: 'ready' },
  decommission: { operation: decommission, during: 'decommissioning', phase: 'removed' },
  drain: { operation: drainMember, during: 'draining', phase: 'ready' },
  uncordon: { operation: uncordonMember, during: 'uncordoning', phase: 'ready' },
  snapshot: { operation: snapshot, during: 'saving_snapshot', phase: 'ready' },
  restore: { operation: restore, during: 'restoring_snapshot', phase: 'ready' },
  'rotate-certificates': { operation: rotateCertificates, during: 'renewing_certificates', phase: 'ready' },
};

/** Operations after which the wanted members are a part of the instance, and the others are not. */
const changing = new Set(['deploy', 'change']);

export function planOf(request: PlanRequest): Plan {
  const { instance, operation, facts, members } = request;
  const found = Object.hasOwn(operations, operation.type) ? operations[operation.type] : undefined;
  const distribution = distributionOf(instance.app);
  const lacks = snapshotOperations.has(operation.type) && !distribution.hasSnapshots;
  if (found === undefined || lacks) throw new AdapterProblem('OperationNotSupported', `this app has no operation ${operation.type}`);
  const isRemoval = operation.type === 'decommission';
  if (!isRemoval) {
    checkUnchanged(instance, facts);
    checkServers(members);
  }
  const { steps } = found.operation(contextOf(request));
  // The platform would refuse it too, but without a word about members.
  if (steps.length > mostSteps && !isRemoval)
    throw new AdapterProblem(
      'TooManyMembersAtOnce',
      `the operation has ${steps.length} steps, and at most ${mostSteps} are possible; name fewer new members in the placement, and add the others in later changes`,
    );
  const names = (list: readonly AdapterMember[]): string[] => list.map(({ name }) => name);
  return {
    steps: steps.map((step) => ({ phase: found.during, ...step })),
    secrets: secretsOf(distribution),
    phase: found.phase,
    ...(isRemoval && { leaves: names(members) }),
    ...(changing.has(operation.type) && {
      joins: names(members.filter(({ isWanted }) => isWanted)),
      leaves: names(members.filter(({ isWanted }) => !isWanted)),
    }),
    ...(operation.type === 'repair' && operation.member !== undefined && { joins: [operation.member] }),
  };
}

function contextOf(request: PlanRequest): Context {
  const wanted = request.members.filter(({ isWanted }) => isWanted);
  return {
    distribution: distributionOf(request.instance.app),
    request,
    servers: serversOf(request.members),
    agents: wanted.filter(({ component }) => component === 'agent'),
    unwanted: request.members.filter(({ isWanted }) => !isWanted),
  };
}

/** The data of the cluster is on its servers: if none of them stays, nothing of the cluster does. */
function checkServers(members: readonly AdapterMember[]): void {
  const joined = members.filter(({ component, hasJoined }) => component === 'server' && hasJoined);
  if (joined.length > 0 && joined.every(({ isWanted }) => !isWanted))
    throw new AdapterProblem(
      'LastServerRemoved',
      'the placement keeps none of the servers that have the data of the cluster; add the new servers first, and remove the old ones in a second change',
    );
}

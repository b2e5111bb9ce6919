import { type AdapterInstance, AdapterProblem } from '../../adapter/contract.ts';

export interface SlurmUser {
  readonly name: string;
  readonly uid: number;
}

export interface Placement {
  readonly controller: string;
  readonly compute: readonly string[];
  readonly login: string | undefined;
}

export interface Settings {
  readonly partition: string;
  readonly users: readonly SlurmUser[];
  readonly hasAccounting: boolean;
  /** Whether jobs are confined to the cores, memory and GPUs that they asked for. Needs control groups of version 1, or of version 2 with systemd. */
  readonly isConfined: boolean;
  /** How long a node that is removed may take to finish its jobs. */
  readonly drainTimeout: string;
}

/** The schema of the App has checked the types. */
interface PlacementFields {
  readonly controller_allocation_id: string;
  readonly compute_allocation_ids?: readonly string[];
  readonly login_allocation_id?: string;
}

interface ParameterFields {
  readonly partition?: string;
  readonly users?: readonly SlurmUser[];
  readonly accounting?: boolean;
  readonly confinement?: 'cgroup' | 'none';
  readonly drain_timeout?: string;
}

export function placementOf({ placement }: Pick<AdapterInstance, 'placement'>): Placement {
  const {
    controller_allocation_id: controller,
    compute_allocation_ids: compute = [],
    login_allocation_id: login,
  } = placement as unknown as PlacementFields;
  const all = [controller, ...compute, ...(login === undefined ? [] : [login])];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined)
    throw new AdapterProblem('AllocationUsedTwice', `the allocation ${twice} is named twice, but each member needs a machine of its own`);
  return { controller, compute, login };
}

export function settingsOf({ parameters }: Pick<AdapterInstance, 'parameters'>): Settings {
  const {
    partition = 'gpu',
    users = [],
    accounting = false,
    confinement = 'cgroup',
    drain_timeout: drainTimeout = '1h',
  } = parameters as unknown as ParameterFields;
  for (const [index, { name, uid }] of users.entries()) {
    const before = users.slice(0, index);
    if (before.some((other) => other.name === name)) throw new AdapterProblem('UserNamedTwice', `the user ${name} is named twice`);
    const other = before.find((one) => one.uid === uid);
    if (other !== undefined) throw new AdapterProblem('UidUsedTwice', `the users ${other.name} and ${name} have the same uid ${uid}`);
  }
  return { partition, users, hasAccounting: accounting, isConfined: confinement === 'cgroup', drainTimeout };
}

import { type AdapterGpu, type AdapterMember, AdapterProblem, type InstanceRequest } from '../../adapter/contract.ts';
import { type Settings, settingsOf } from './settings.ts';

/** A member by the name that it has in Slurm. */
export interface SlurmNode {
  readonly member: AdapterMember;
  readonly name: string;
}

export interface Cluster {
  readonly id: string;
  readonly name: string;
  readonly settings: Settings;
  readonly controller: SlurmNode;
  readonly compute: readonly SlurmNode[];
  readonly login: SlurmNode | undefined;
  /** Members that the placement no longer asks for. */
  readonly unwanted: readonly SlurmNode[];
}

const namePattern = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const longestClusterName = 40;

export function clusterOf({ instance, members }: InstanceRequest): Cluster {
  const wanted = members.filter(({ isWanted }) => isWanted).map(nodeOf);
  const controller = wanted.find(({ member }) => member.component === 'controller');
  if (controller === undefined) throw new AdapterProblem('NoController', 'the allocation of the controller has no machine yet');
  const taken = new Map<string, SlurmNode>();
  for (const node of wanted) {
    if (!namePattern.test(node.name))
      throw new AdapterProblem('HostNameNotUsable', `the host name ${node.name} of the node ${node.member.node.name} is no DNS label`);
    const other = taken.get(node.name);
    if (other !== undefined)
      throw new AdapterProblem(
        'HostNameUsedTwice',
        `the nodes ${other.member.node.name} and ${node.member.node.name} both have the host name ${node.name}, by which Slurm distinguishes them`,
      );
    taken.set(node.name, node);
  }
  return {
    id: instance.id,
    name: instance.name.slice(0, longestClusterName),
    settings: settingsOf(instance),
    controller,
    compute: wanted.filter(({ member }) => member.component === 'compute'),
    login: wanted.find(({ member }) => member.component === 'login'),
    unwanted: members.filter(({ isWanted }) => !isWanted).map(nodeOf),
  };
}

/** All wanted members. */
export function membersOf({ controller, compute, login }: Cluster): readonly SlurmNode[] {
  return [controller, ...compute, ...(login === undefined ? [] : [login])];
}

/** Slurm knows machines by the first label of their host names. */
export function nodeOf(member: AdapterMember): SlurmNode {
  return { member, name: member.node.hostname.split('.')[0]! };
}

const standIns = '/var/lib/slurm/gpus/gpu';
const isDeclared = ({ uuid }: AdapterGpu): boolean => uuid.startsWith('GPU-declared-');

export interface OfferedGpu {
  readonly type: string;
  readonly file: string;
}

/** The GPUs that jobs can get. Slurm needs a device file of each, so declared ones have a stand-in, and others without a file are left out. */
export function gpusOf({ member }: SlurmNode): readonly OfferedGpu[] {
  let declared = 0;
  return member.node.gpus.flatMap((gpu) => {
    const file = gpu.device ?? (isDeclared(gpu) ? `${standIns}${declared++}` : undefined);
    return file === undefined ? [] : [{ type: typeOf(gpu), file }];
  });
}

export function standInsOf({ member }: SlurmNode): number {
  return member.node.gpus.filter((gpu) => gpu.device === undefined && isDeclared(gpu)).length;
}

export function unhealthyGpus({ member }: SlurmNode): readonly AdapterGpu[] {
  return member.node.gpus.filter(({ isHealthy }) => !isHealthy);
}

/** `NVIDIA H200` as `nvidia_h200`: Slurm takes no other characters. */
function typeOf({ model }: AdapterGpu): string {
  return (
    model
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '') || 'gpu'
  );
}

import { type Cluster, gpusOf, type SlurmNode } from './cluster.ts';
import { controllerPort } from './services.ts';

/** The part of the memory that stays with the operating system and the agent. */
const reserved = 0.05;

const text = (lines: readonly string[]): string => ['# Written by Capstan, which replaces it.', ...lines, ''].join('\n');

export function slurmConf(cluster: Cluster): string {
  const { settings, controller } = cluster;
  return text([
    `ClusterName=${cluster.name}`,
    `SlurmctldHost=${controller.name}(${controller.member.node.address})`,
    `SlurmctldPort=${controllerPort}`,
    'SlurmUser=slurm',
    'AuthType=auth/munge',
    'CredType=cred/munge',
    'SlurmctldParameters=enable_configless',
    'StateSaveLocation=/var/lib/slurm/slurmctld',
    'SlurmdSpoolDir=/var/lib/slurm/slurmd',
    // The controller runs as the user slurm, which may not write to /run.
    'SlurmctldPidFile=/var/lib/slurm/slurmctld.pid',
    'SlurmdPidFile=/run/slurmd.pid',
    'SlurmctldLogFile=/var/log/slurm/slurmctld.log',
    'SlurmdLogFile=/var/log/slurm/slurmd.log',
    'MpiDefault=none',
    'MailProg=/bin/true',
    ...(settings.isConfined
      ? ['ProctrackType=proctrack/cgroup', 'TaskPlugin=task/cgroup,task/affinity']
      : ['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none']),
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_Core_Memory',
    // A job that asks for no memory would get all of a node, and no other job would fit beside it.
    ...(cluster.compute.length > 0 ? [`DefMemPerCPU=${Math.min(...cluster.compute.map(memoryPerCpu))}`] : []),
    // A node that was away takes jobs again by itself. Nodes that somebody has drained stay drained.
    'ReturnToService=2',
    'GresTypes=gpu',
    ...(settings.hasAccounting
      ? [
          'AccountingStorageType=accounting_storage/slurmdbd',
          `AccountingStorageHost=${controller.member.node.address}`,
          'AccountingStorageTRES=gres/gpu',
          `JobAcctGatherType=jobacct_gather/${settings.isConfined ? 'cgroup' : 'linux'}`,
        ]
      : ['AccountingStorageType=accounting_storage/none']),
    ...cluster.compute.map(nodeLine),
    // The controller does not start without any node, so it gets one that will never be there.
    ...(cluster.compute.length === 0 ? ['NodeName=nobody State=FUTURE'] : []),
    `PartitionName=${settings.partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP`,
  ]);
}

export function gresConf({ compute }: Cluster): string {
  return text(compute.flatMap((node) => gpusOf(node).map(({ type, file }) => `NodeName=${node.name} Name=gpu Type=${type} File=${file}`)));
}

export function cgroupConf({ settings }: Cluster): string {
  return text(
    settings.isConfined
      ? // Each node finds out whether it has version 1 or 2.
        ['CgroupPlugin=autodetect', 'ConstrainCores=yes', 'ConstrainDevices=yes', 'ConstrainRAMSpace=yes']
      : // Nothing uses it, but slurmd does not start if it finds no control groups by itself.
        ['CgroupPlugin=cgroup/v1'],
  );
}

export function slurmdbdConf({ controller }: Cluster): string {
  return text([
    'AuthType=auth/munge',
    `DbdHost=${controller.name}`,
    `DbdAddr=${controller.member.node.address}`,
    'SlurmUser=slurm',
    'StorageType=accounting_storage/mysql',
    'StorageHost=localhost',
    'StorageUser=slurm',
    'StorageLoc=slurm_acct_db',
    'PidFile=/run/slurm-database/slurmdbd.pid',
    'LogFile=/var/log/slurm/slurmdbd.log',
    '# The program finds the socket of the database by its environment.',
  ]);
}

function nodeLine(node: SlurmNode): string {
  const { cpus, address } = node.member.node;
  const gpus = new Map<string, number>();
  for (const { type } of gpusOf(node)) gpus.set(type, (gpus.get(type) ?? 0) + 1);
  const gres = [...gpus].map(([type, count]) => `gpu:${type}:${count}`).join(',');
  return `NodeName=${node.name} NodeAddr=${address} CPUs=${cpus} RealMemory=${memoryOf(node)} ${gres && `Gres=${gres} `}State=UNKNOWN`;
}

/** In mebibytes. Slurm drains a node that has less than its configuration says. */
function memoryOf({ member }: SlurmNode): number {
  return Math.max(1, Math.floor(member.node.memoryMiB * (1 - reserved)));
}

function memoryPerCpu(node: SlurmNode): number {
  return Math.max(1, Math.floor(memoryOf(node) / Math.max(1, node.member.node.cpus)));
}

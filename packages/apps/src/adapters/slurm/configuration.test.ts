import { expect, test } from 'vitest';
import { clusterOf } from './cluster.ts';
import { cgroupConf, gresConf, slurmConf, slurmdbdConf } from './configuration.ts';
import { pretendCluster, pretendMember, pretendRequest } from './testing/cluster.ts';

const cluster = (members = pretendCluster(), parameters = {}) => clusterOf(pretendRequest(members, { type: 'deploy' }, parameters));
const linesOf = (text: string): string[] => text.split('\n');

test('names the machines by the first labels of their host names, with address, processors, memory and GPUs', () => {
  const lines = linesOf(slurmConf(cluster()));
  expect(lines).toContain('SlurmctldHost=c1(10.0.0.1)');
  expect(lines).toContain('NodeName=g1 NodeAddr=10.0.0.2 CPUs=8 RealMemory=60800 Gres=gpu:nvidia_h200:2 State=UNKNOWN');
  expect(lines).toContain('PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP');
  expect(lines.filter((line) => line.startsWith('NodeName='))).toHaveLength(2);
});

test('gives jobs that ask for no memory a share of it, so that several fit on a node', () => {
  expect(linesOf(slurmConf(cluster()))).toContain('DefMemPerCPU=7600');
});

test('has a node in the future if there is none, as the controller does not start without', () => {
  expect(linesOf(slurmConf(cluster([pretendMember('c1', 1, { component: 'controller' })])))).toContain('NodeName=nobody State=FUTURE');
  expect(slurmConf(cluster())).not.toContain('FUTURE');
});

test('lets the controller serve the configuration, and keeps its state across restarts', () => {
  const lines = linesOf(slurmConf(cluster()));
  expect(lines).toContain('SlurmctldParameters=enable_configless');
  expect(lines).toContain('StateSaveLocation=/var/lib/slurm/slurmctld');
});

test('names the device file of each GPU', () => {
  expect(linesOf(gresConf(cluster())).filter((line) => line.startsWith('NodeName=g2'))).toEqual([
    'NodeName=g2 Name=gpu Type=nvidia_h200 File=/dev/nvidia0',
    'NodeName=g2 Name=gpu Type=nvidia_h200 File=/dev/nvidia1',
  ]);
});

test('uses stand-ins for declared GPUs, and leaves out others without a device file', () => {
  const mixed = pretendCluster({
    g1: { gpus: [{ device: '/dev/nvidia0' }, { uuid: 'GPU-lost' }, { uuid: 'GPU-declared-1', model: 'H100' }] },
  });
  expect(gresConf(cluster(mixed))).toContain('NodeName=g1 Name=gpu Type=h100 File=/var/lib/slurm/gpus/gpu0');
  expect(slurmConf(cluster(mixed))).toContain('Gres=gpu:nvidia_h200:1,gpu:h100:1 ');
});

test('confines jobs unless that is switched off', () => {
  expect(slurmConf(cluster())).toContain('TaskPlugin=task/cgroup,task/affinity');
  expect(linesOf(cgroupConf(cluster()))).toEqual(expect.arrayContaining(['CgroupPlugin=autodetect', 'ConstrainDevices=yes']));
  expect(slurmConf(cluster(undefined, { confinement: 'none' }))).toContain('ProctrackType=proctrack/linuxproc');
});

test('keeps records of jobs with accounting only', () => {
  expect(slurmConf(cluster())).toContain('AccountingStorageType=accounting_storage/none');
  const accounted = cluster(undefined, { accounting: true });
  expect(slurmConf(accounted)).toContain('AccountingStorageHost=10.0.0.1');
  expect(slurmdbdConf(accounted)).toContain('DbdHost=c1');
});

test.each([
  ['HostNameUsedTwice', [{ hostname: 'same.one' }, { hostname: 'same.two' }]],
  ['HostNameNotUsable', [{ hostname: 'a b' }, {}]],
])('refuses machines with %s', (code, [one, two]) => {
  const members = [pretendMember('c1', 1, { component: 'controller' }), pretendMember('g1', 2, one), pretendMember('g2', 3, two)];
  expect(() => cluster(members)).toThrow(expect.objectContaining({ code }));
});

import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type AdapterMember, mostSteps, type Plan, type PlannedStep } from '../../../adapter/contract.ts';
import { slurm } from '../registration.ts';
import { type PretendMember, type PretendOperation, pretendCluster, pretendMember, pretendRequest } from '../testing/cluster.ts';
import { planOf } from './plan.ts';

const plan = (
  type: string,
  members: readonly AdapterMember[] = pretendCluster(),
  rest: Omit<PretendOperation, 'type'> = {},
  settings = {},
) => planOf(pretendRequest(members, { type, ...rest }, settings));
const stageOf = ({ steps }: Plan, id: string): number => {
  const found = steps.find((step) => step.id === id);
  if (found === undefined) throw new Error(`there is no step ${id}, only ${steps.map((step) => step.id).join(', ')}`);
  return found.stage;
};
const idsOf = ({ steps }: Plan): string[] => steps.map(({ id }) => id);
const everything = [
  plan('deploy', undefined, undefined, { accounting: true, users: [{ name: 'ann', uid: 2001 }] }),
  plan('change', pretendCluster({ g2: { isWanted: false } })),
  plan('decommission'),
  plan('reconcile'),
  plan('start'),
  plan('stop', undefined, undefined, { accounting: true }),
  ...['lab-c1', 'lab-g1', 'lab-l1'].map((member) => plan('repair', undefined, { member })),
  plan('drain', undefined, { member: 'lab-g1', parameters: { wait: true } }),
  plan('undrain', undefined, { member: 'lab-g1' }),
  plan('restart-controller'),
];

test('has a munge on all members before the controller, and the controller before the nodes', () => {
  const deploy = plan('deploy');
  const order = [
    ...['prepare-lab-g1', 'install-lab-g1', 'configure-lab-g1', 'write-munge-key-lab-g1', 'run-munge-lab-g1', 'credential-lab-c1'],
    ...['check-credential-lab-g1', 'write-slurm-conf-lab-c1', 'run-controller-lab-c1', 'reconfigure-lab-c1', 'run-node-lab-g1'],
    ...['registered-lab-g1', 'follow-gpus-lab-c1'],
  ].map((id) => stageOf(deploy, id));
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(new Set(order).size).toBe(order.length);
  expect(deploy.joins).toEqual(['lab-c1', 'lab-g1', 'lab-g2', 'lab-l1']);
});

test.each([
  ['lab-c1', 'c1', 'none', ['6817', '6819']],
  ['lab-g1', 'g1', 'cgroup', ['6818']],
  ['lab-l1', 'l1', 'none', []],
])('looks first whether %s can have its name, confine jobs and listen on its ports', (member, name, confinement, ports) => {
  const { steps } = plan('deploy', undefined, undefined, { accounting: true });
  expect(steps.find(({ id }) => id === `prepare-${member}`)?.task).toMatchObject({ arguments: ['0b1f', name, confinement, ...ports] });
});

test('keeps jobs when the daemon of a node ends', () => {
  const { steps } = plan('deploy');
  const keeping = steps.flatMap((step) => (step.type === 'service.ensure' && step.task.keepsProcesses === true ? [step.id] : []));
  expect(keeping).toEqual(['run-node-lab-g1', 'run-node-lab-g2']);
});

test('has the accounting before the controller', () => {
  const deploy = plan('deploy', undefined, undefined, { accounting: true });
  expect(stageOf(deploy, 'accounting-lab-c1')).toBeLessThan(stageOf(deploy, 'run-controller-lab-c1'));
  expect(idsOf(plan('deploy'))).not.toContain('run-accounting-lab-c1');
});

test('does only what the App permits, with steps that have names of their own', () => {
  const { permitted } = slurm.apps()[0]!.spec;
  const scripts = new Set(permitted?.scripts?.map(({ name }) => name));
  for (const { steps } of everything) {
    expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
    for (const step of steps) {
      expect(step.id).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
      expect(problemOf(step, scripts, permitted)).toBeUndefined();
    }
  }
});

function problemOf(step: PlannedStep, scripts: ReadonlySet<string>, permitted: ReturnType<typeof slurm.apps>[number]['spec']['permitted']) {
  switch (step.type) {
    case 'process.run':
    case 'probe.command':
      return scripts.has(step.task.script) ? undefined : step.task.script;
    case 'file.write':
      return permitted?.paths?.some((path) => step.task.path.startsWith(path)) ? undefined : step.task.path;
    case 'package.ensure':
      return step.task.names.find((name) => !permitted?.packages?.includes(name));
    case 'service.ensure':
      return permitted?.services?.includes(step.task.name) ? undefined : step.task.name;
    default:
      return step.type;
  }
}

const largest = slurm.apps()[0]!.spec.components.find(({ name }) => name === 'compute')!.maximum!;
/** In bytes: what a Secret has room for. A plan is kept in one, compressed. */
const mostKept = 720_000;
const manyNodes = (prefix: string, more: PretendMember = {}) =>
  Array.from({ length: largest }, (_, index) => {
    const name = `${prefix}${index}`;
    return pretendMember(name, 1, {
      hostname: `${name}-`.padEnd(63, 'x'),
      gpus: Array.from({ length: 8 }, () => ({ device: '/dev/nvidia0' })),
      ...more,
    });
  });

test.each(['deploy', 'reconcile', 'stop', 'decommission', 'change'])(
  'fits %s of the largest cluster into a plan, its arguments and its files',
  (type) => {
    const [controller, , , login] = pretendCluster();
    const settings = {
      accounting: true,
      users: Array.from({ length: 60 }, (_, index) => ({ name: `user-${index}`.padEnd(31, 'x'), uid: 2000 + index })),
    };
    // A change that replaces all nodes.
    const nodes = type === 'change' ? [...manyNodes('a', { hasJoined: false }), ...manyNodes('b', { isWanted: false })] : manyNodes('a');
    const { steps } = plan(type, [controller!, ...nodes, login!], {}, settings);
    expect(gzipSync(JSON.stringify(steps)).length).toBeLessThan(mostKept);
    expect(steps.length).toBeLessThanOrEqual(mostSteps);
    for (const step of steps) {
      const words = 'arguments' in step.task ? (step.task.arguments ?? []) : [];
      expect(words.length, step.id).toBeLessThanOrEqual(64);
      expect(Math.max(0, ...words.map(({ length }) => length)), step.id).toBeLessThanOrEqual(4096);
      if (step.type === 'file.write') expect(step.task.content.length, step.id).toBeLessThanOrEqual(524_288);
    }
    const gpus = steps.flatMap((step) =>
      step.type === 'process.run' && step.task.arguments?.[0] === 'follow-gpus' ? step.task.arguments.slice(1) : [],
    );
    expect(gpus).toHaveLength(type === 'stop' || type === 'decommission' ? 0 : largest);
  },
);

test('a reconciliation leaves silent members out, but waits for the controller', () => {
  const { steps } = plan('reconcile', pretendCluster({ g1: { isReady: false }, c1: { isReady: false } }));
  expect(new Set(steps.map(({ member }) => member))).toEqual(new Set(['lab-c1', 'lab-g2', 'lab-l1']));
});

test('goes on without a node that fails, but not without the controller', () => {
  const { steps } = plan('deploy');
  for (const { member, onFailure = 'fail', id } of steps) expect(onFailure, id).toBe(member === 'lab-c1' ? 'fail' : 'degrade');
});

test('starts the controller again when the nodes change, and leaves it alone otherwise', () => {
  const environment = ({ steps }: Plan) => steps.flatMap((step) => (step.id === 'run-controller-lab-c1' ? [step.task] : []));
  expect(environment(plan('reconcile'))).toEqual(environment(plan('deploy')));
  expect(environment(plan('change', pretendCluster({ g2: { isWanted: false } })))).not.toEqual(environment(plan('deploy')));
});

test('waits for the jobs of a node that leaves, then stops it, then forgets it, then cleans it', () => {
  const change = plan('change', pretendCluster({ g2: { isWanted: false } }));
  const order = [
    'drain-lab-g2-lab-c1',
    'drained-lab-g2-lab-c1',
    'stop-node-lab-g2',
    'write-slurm-conf-lab-c1',
    'reconfigure-lab-c1',
    'clean-lab-g2',
  ].map((id) => stageOf(change, id));
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(change.leaves).toEqual(['lab-g2']);
  expect(change.steps.find(({ id }) => id === 'drained-lab-g2-lab-c1')).toMatchObject({ onFailure: 'intervene', code: 'DrainTimeout' });
  expect(change.steps.find(({ id }) => id === 'clean-lab-g2')).toMatchObject({ reportsResidue: true });
});

test('installs only new members in a change, and tells the others that are not silent', () => {
  const change = plan('change', pretendCluster({ g2: { hasJoined: false }, g1: { isReady: false } }));
  expect(idsOf(change).filter((id) => id.startsWith('install-'))).toEqual(['install-lab-c1', 'install-lab-g2']);
  expect(change.steps.filter(({ member }) => member === 'lab-g1')).toEqual([]);
  expect(idsOf(change)).toContain('configure-lab-l1');
});

test('refuses to move the controller, which would lose the queue', () => {
  const members = [...pretendCluster({ c1: { isWanted: false } }), pretendMember('c2', 9, { component: 'controller', hasJoined: false })];
  expect(() => plan('change', members)).toThrow(expect.objectContaining({ code: 'ControllerMoved' }));
});

test('repairs a node without touching the others', () => {
  const members = new Set(plan('repair', undefined, { member: 'lab-g1' }).steps.map(({ member }) => member));
  expect([...members].sort()).toEqual(['lab-c1', 'lab-g1']);
});

test('marks its drains, with a reason that Slurm can store', () => {
  const [step] = plan('drain', undefined, { member: 'lab-g1', parameters: { reason: `bad "fan" [left] $(id)` } }).steps;
  expect(step).toMatchObject({ member: 'lab-c1', task: { arguments: ['drain', 'g1', 'capstan: op-7 bad fan left id'] } });
});

test('drains nodes with GPUs that are out of order, and resumes the others', () => {
  const members = pretendCluster({ g1: { gpus: [{ device: '/dev/nvidia0', isHealthy: false }] } });
  expect(plan('reconcile', members).steps.find(({ id }) => id === 'follow-gpus-lab-c1')).toMatchObject({
    task: { arguments: ['follow-gpus', 'g1=GPU-g1-0', 'g2='] },
  });
  expect(() => plan('undrain', members, { member: 'lab-g1' })).toThrow(expect.objectContaining({ code: 'GpuUnhealthy' }));
  expect(plan('undrain', members, { member: 'lab-g1', parameters: { force: true } }).steps).toHaveLength(1);
});

test('removes everything from every member, also from those that never joined', () => {
  const { steps, leaves } = plan('decommission', pretendCluster({ g2: { hasJoined: false }, g1: { isWanted: false } }));
  expect(steps.filter(({ reportsResidue }) => reportsResidue === true).map(({ member }) => member)).toEqual([
    'lab-c1',
    'lab-g1',
    'lab-g2',
    'lab-l1',
  ]);
  expect(leaves).toHaveLength(4);
  expect(plan('decommission', []).steps).toEqual([]);
});

test('never contains the munge key', () => {
  const [secret] = plan('deploy').secrets ?? [];
  expect(secret).toEqual({ name: 'munge-key', bytes: 64, encoding: 'hex' });
  const keys = plan('deploy').steps.flatMap((step) => (step.type === 'file.write' && step.task.path.endsWith('.key') ? [step.task] : []));
  expect(keys).toHaveLength(4);
  for (const key of keys) expect(key).toMatchObject({ content: '${secret:munge-key}', mode: '0400', owner: 'munge:munge' });
});

test.each([
  ['UnknownOperation', 'fly', 'lab-g1'],
  ['NoSuchMember', 'repair', 'lab-x'],
  ['NotANode', 'drain', 'lab-c1'],
])('refuses with %s', (code, type, member) => {
  expect(() => plan(type, undefined, { member })).toThrow(expect.objectContaining({ code }));
});

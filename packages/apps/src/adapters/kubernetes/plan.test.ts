import { expect, test } from 'vitest';
import { type AdapterMember, mostSteps, type Plan, type PlannedStep } from '../../adapter/contract.ts';
import { exitCodes } from './exit-codes.ts';
import { planOf } from './plan.ts';
import { instanceOf, joined, memberOf, type RequestOptions, requestOf } from './testing.ts';

const plan = (type: string, options: RequestOptions = {}): Plan => planOf(requestOf(type, options));
/** `node: script arguments`, stage by stage. Both ways to run a service are one. */
function told({ steps }: Plan): string[][] {
  const stages: string[][] = [];
  for (const step of steps) {
    const words = wordsOf(step);
    const stage = (stages[step.stage] ??= []);
    if (!stage.includes(words)) stage.push(words);
  }
  return stages;
}
function wordsOf({ type, task, member, id }: PlannedStep): string {
  const node = member.replace(/^lab-(server|agent)-/, 'gpu-');
  if (type === 'file.write') return `${node}: write`;
  if (type === 'artifact.fetch') return `${node}: fetch`;
  if (type === 'service.ensure') return `${node}: ${task.state === 'running' ? 'start' : 'stop'}`;
  if (type !== 'process.run') throw new Error(`unexpected step ${id}`);
  const script = task.script.replace('kubernetes-', '');
  return `${node}: ${script === 'unit' ? task.arguments?.[1] : script}`;
}
const cluster = (...overrides: Partial<AdapterMember>[]): AdapterMember[] => [
  memberOf('server', 1, { ...joined, ...overrides[0] }),
  memberOf('agent', 2, { ...joined, ...overrides[1] }),
  memberOf('agent', 3, { ...joined, ...overrides[2] }),
];

test('deploys the server first, then the agents side by side, then the kubeconfig', () => {
  const found = plan('deploy');
  expect(told(found)).toEqual([
    ['gpu-1: preflight', 'gpu-2: preflight', 'gpu-3: preflight'],
    ['gpu-1: keep'],
    ['gpu-1: fetch'],
    ['gpu-1: install'],
    ['gpu-1: write'],
    ['gpu-1: start'],
    ['gpu-1: wait'],
    ['gpu-1: join-token'],
    ['gpu-2: fetch', 'gpu-3: fetch'],
    ['gpu-2: install', 'gpu-3: install'],
    ['gpu-2: write', 'gpu-3: write'],
    ['gpu-2: start', 'gpu-3: start'],
    ['gpu-2: wait', 'gpu-3: wait'],
    ['gpu-1: access'],
  ]);
  expect([...new Set(found.steps.flatMap(({ phase }) => phase ?? []))]).toEqual([
    'placement_validated',
    'server_bootstrap_requested',
    'server_bootstrapping',
    'server_ready_for_agent_join',
    'agent_join_requested',
    'agent_joining',
    'kubeconfig_delivery_requested',
  ]);
  expect(found).toMatchObject({ phase: 'ready', joins: ['lab-server-1', 'lab-agent-2', 'lab-agent-3'], leaves: [] });
});

test('a failing agent degrades the instance, a failing server asks for a person, and a failing kubeconfig stops nothing', () => {
  const { steps } = plan('deploy');
  for (const step of steps.filter(({ member }) => member.includes('agent'))) expect(step.onFailure, step.id).toBe('degrade');
  const bySuffix = (id: string) => steps.find((step) => step.id === id);
  expect(bySuffix('wait-lab-server-1')).toMatchObject({ onFailure: 'intervene', code: 'ServerBootstrapTimeout' });
  expect(bySuffix('wait-lab-server-1')?.instructions).toContain('resume');
  expect(bySuffix('access-lab-server-1')).toMatchObject({ onFailure: 'continue', attempts: 5 });
});

test('never writes the token of servers to an agent, nor any secret in clear', () => {
  const { steps, secrets } = plan('deploy');
  const content = (member: string): string => {
    const step = steps.find((one) => one.member === member && one.type === 'file.write');
    return step?.type === 'file.write' ? step.task.content : '';
  };
  expect(content('lab-server-1')).toContain('token: "${secret:token}"\nagent-token: "${secret:agent-token}"\n');
  expect(content('lab-agent-2')).toContain('token: "${secret:agent-join-token}"\n');
  expect(content('lab-agent-2')).toContain('server: "https://192.0.2.11:9345"\n');
  expect(content('lab-agent-2')).not.toMatch(/secret:(token|agent-token|server-join-token)\}/);
  expect(secrets?.map(({ name }) => name)).toEqual(['token', 'agent-token']);
  for (const step of steps) if (step.type === 'file.write') expect(step.task.mode).toBe('0600');
});

test('fetches the files of the version, and refuses a version without them', () => {
  const fetched = plan('deploy').steps.flatMap((step) =>
    step.type === 'artifact.fetch' && step.member === 'lab-server-1' ? [step.task.path] : [],
  );
  expect(fetched).toEqual(
    ['rke2.linux-amd64.tar.gz', 'sha256sum-amd64.txt', 'install.sh', 'rke2-images.linux-amd64.tar.zst'].map(
      (name) => `/var/lib/capstan-apps/rke2/${name}`,
    ),
  );
  expect(() => plan('deploy', { instance: instanceOf({ artifacts: {} }) })).toThrow(
    expect.objectContaining({ code: 'ArtifactMissing', userFixable: false }),
  );
});

test('deploys the device plugin of a version that has one, last of all but the kubeconfig, and goes on without it', () => {
  const artifacts = { ...instanceOf().artifacts, 'device-plugin.yaml': 'b'.repeat(64), 'device-plugin-images.tar': 'c'.repeat(64) };
  const found = plan('deploy', { instance: instanceOf({ artifacts }) });
  expect(told(found).slice(-2)).toEqual([['gpu-1: addons'], ['gpu-1: access']]);
  expect(found.steps.find(({ id }) => id === 'addons-lab-server-1')).toMatchObject({ onFailure: 'continue' });
  const paths = found.steps.flatMap((step) => (step.type === 'artifact.fetch' && step.member === 'lab-agent-2' ? [step.task.path] : []));
  expect(paths).toContain('/var/lib/rancher/rke2/agent/images/device-plugin-images.tar');
  expect(plan('deploy').steps.some(({ id }) => id.startsWith('addons'))).toBe(false);
});

const manyAgents = (first: number, overrides: Partial<AdapterMember> = {}): AdapterMember[] =>
  Array.from({ length: 500 }, (_, index) => memberOf('agent', index + first, overrides));

test.each(['deploy', 'decommission', 'reconcile', 'stop', 'start', 'restore', 'rotate-certificates'])(
  'plans %s of as many members as the App permits',
  (type) => {
    const overrides = type === 'deploy' ? {} : joined;
    const found = plan(type, { members: [memberOf('server', 1, overrides), ...manyAgents(2, overrides)], facts: { snapshot: 'one' } });
    expect(found.steps.length).toBeLessThanOrEqual(mostSteps);
  },
);

test('asks for fewer members if a plan would be longer than the platform permits', () => {
  const unwanted = { ...joined, isWanted: false };
  const members = [memberOf('server', 1, joined), ...manyAgents(2), ...manyAgents(600, unwanted), ...manyAgents(1100, unwanted)];
  expect(() => plan('change', { members })).toThrow(expect.objectContaining({ code: 'TooManyMembersAtOnce' }));
});

test('k3s joins by the port of the API, has an etcd of its own and no StorageClass', () => {
  const { steps } = plan('deploy', { instance: instanceOf({ app: 'k3s', version: 'v1.34.1+k3s1' }) });
  const [server, agent] = steps.flatMap((step) => (step.type === 'file.write' ? [step.task] : []));
  expect(server?.path).toBe('/etc/rancher/k3s/config.yaml');
  expect(server?.content).toContain('cluster-init: true\n');
  expect(server?.content).toContain('disable:\n  - "local-storage"\n');
  expect(agent?.content).toContain('server: "https://192.0.2.11:6443"\n');
});

test('uses the unit of the distribution or the node agent, and plans both until it knows which', () => {
  const services = (options: RequestOptions) => plan('deploy', options).steps.filter(({ id }) => /^start-.*server-1$/.test(id));
  expect(services({}).map(({ type, when }) => [type, when?.is])).toEqual([
    ['process.run', 'systemd'],
    ['service.ensure', 'agent'],
  ]);
  expect(services({ facts: { 'init-lab-server-1': 'systemd' } }).map(({ type, when }) => [type, when])).toEqual([
    ['process.run', undefined],
  ]);
  expect(services({ facts: { 'init-lab-server-1': 'agent' } })).toMatchObject([
    { type: 'service.ensure', task: { name: 'rke2-server', command: ['/var/lib/capstan-apps/rke2/service', 'server'] } },
  ]);
});

test('several servers join one at a time', () => {
  const members = [1, 2, 3].map((index) => memberOf('server', index));
  const stages = told(plan('deploy', { members }));
  const starts = stages.flatMap((stage, index) => stage.filter((words) => words.endsWith(': start')).map((words) => [index, words]));
  expect(starts.map(([, words]) => words)).toEqual(['gpu-1: start', 'gpu-2: start', 'gpu-3: start']);
  expect(new Set(starts.map(([index]) => index)).size).toBe(3);
  for (const [index, words] of starts) expect(stages[Number(index) + 1]).toEqual([String(words).replace('start', 'wait')]);
});

test('a change joins new agents before it drains and removes those that leave', () => {
  const members = [...cluster({}, {}, { isWanted: false }), memberOf('agent', 4)];
  const found = plan('change', { members });
  expect(told(found)).toEqual([
    ['gpu-4: preflight'],
    ['gpu-1: join-token'],
    ['gpu-4: fetch'],
    ['gpu-4: install'],
    ['gpu-4: write'],
    ['gpu-4: start'],
    ['gpu-4: wait'],
    ['gpu-1: drain'],
    ['gpu-3: stop'],
    ['gpu-1: forget'],
    ['gpu-3: uninstall'],
    ['gpu-3: residue'],
    ['gpu-1: access'],
  ]);
  expect(found).toMatchObject({ joins: ['lab-server-1', 'lab-agent-2', 'lab-agent-4'], leaves: ['lab-agent-3'] });
  expect(found.steps.find(({ id }) => id.startsWith('drain-'))?.phase).toBe('member_leaving');
});

test('a server leaves etcd before it stops', () => {
  const members = [1, 2, 3].map((index) => memberOf('server', index, { ...joined, isWanted: index !== 1 }));
  expect(told(plan('change', { members })).slice(1, -1)).toEqual([
    ['gpu-2: drain'],
    ['gpu-2: forget'],
    ['gpu-1: stop'],
    ['gpu-2: forget'],
    ['gpu-1: uninstall'],
    ['gpu-1: residue'],
  ]);
});

test('refuses changes that would lose the cluster or that it cannot follow', () => {
  const replaced = [memberOf('server', 1, { ...joined, isWanted: false }), memberOf('server', 2)];
  expect(() => plan('change', { members: replaced })).toThrow(expect.objectContaining({ code: 'LastServerRemoved' }));
  const facts = { settings: '{"version":"v1.34.1+rke2r1"}' };
  const change = (instance: Parameters<typeof instanceOf>[0]) => () => plan('change', { facts, instance: instanceOf(instance) });
  expect(change({ parameters: { 'cluster-cidr': '10.9.0.0/16' } })).toThrow(expect.objectContaining({ code: 'SettingNotChangeable' }));
  expect(change({ version: 'v1.35.0+rke2r1' })).toThrow(expect.objectContaining({ code: 'UpgradeNotSupported' }));
  expect(change({ parameters: { 'tls-san': ['k8s.example.org'] } })).not.toThrow();
  expect(() => plan('decommission', { facts, instance: instanceOf({ version: 'v1.35.0+rke2r1' }) })).not.toThrow();
});

test('decommission removes everything from all members at once, and reports what is left', () => {
  const found = plan('decommission', { members: [...cluster(), memberOf('agent', 4, { isWanted: false, state: 'failed' })] });
  expect(told(found)).toEqual([
    ['gpu-1: stop', 'gpu-2: stop', 'gpu-3: stop', 'gpu-4: stop'],
    ['gpu-1: uninstall', 'gpu-2: uninstall', 'gpu-3: uninstall', 'gpu-4: uninstall'],
    ['gpu-1: residue', 'gpu-2: residue', 'gpu-3: residue', 'gpu-4: residue'],
  ]);
  expect(found.steps.filter(({ reportsResidue }) => reportsResidue)).toHaveLength(4);
  expect(found.leaves).toHaveLength(4);
});

test.each([
  ['that it was deployed with', { settings: '{"version":"v1.34.1+rke2r1","cluster-cidr":"10.9.0.0/16"}' }, {}, '10.9.0.0/16'],
  ['that its parameters name', {}, { 'cluster-cidr': 'fd00:42::/56' }, 'fd00:42::/56'],
  ['by default', {}, {}, '10.42.0.0/16'],
])('a removal knows the network of pods %s', (_, facts, parameters, network) => {
  const { steps } = plan('decommission', { members: cluster(), facts, instance: instanceOf({ parameters }) });
  const last = (script: string) =>
    steps.flatMap(({ type, task }) => (type === 'process.run' && task.script === script ? [task.arguments?.at(-1)] : []));
  expect(new Set([...last('kubernetes-uninstall'), ...last('kubernetes-residue')])).toEqual(new Set([network]));
});

test('stops agents before servers, and starts servers before agents', () => {
  expect(told(plan('stop', { members: cluster() }))).toEqual([
    ['gpu-2: stop', 'gpu-3: stop'],
    ['gpu-2: halt', 'gpu-3: halt'],
    ['gpu-1: stop'],
    ['gpu-1: halt'],
  ]);
  expect(told(plan('start', { members: cluster() }))).toEqual([
    ['gpu-1: start'],
    ['gpu-1: wait'],
    ['gpu-2: start', 'gpu-3: start'],
    ['gpu-2: wait', 'gpu-3: wait'],
  ]);
});

test('restores with node agents alone', () => {
  const members = [1, 2, 3].map((index) => memberOf('server', index, joined));
  const stages = told(plan('restore', { members, operation: { parameters: { snapshot: 'nightly-1' } } }));
  expect(stages.slice(0, 6)).toEqual([
    ['gpu-1: stop', 'gpu-2: stop', 'gpu-3: stop'],
    ['gpu-1: halt', 'gpu-2: halt', 'gpu-3: halt'],
    ['gpu-1: write', 'gpu-2: write', 'gpu-3: write'],
    ['gpu-1: restore', 'gpu-2: restore', 'gpu-3: restore'],
    ['gpu-1: start'],
    ['gpu-1: wait'],
  ]);
  for (const snapshot of ['../../etc/passwd', '', 7, undefined])
    expect(() => plan('restore', { members, operation: { parameters: { snapshot } as never } })).toThrow(
      expect.objectContaining({ code: 'InvalidParameters' }),
    );
  expect(() => plan('restore', { members, facts: { snapshot: 'capstan-gpu-1-1' } })).not.toThrow();
});

test('repairs an agent by forgetting the password of its node', () => {
  const stages = told(plan('repair', { members: cluster(), operation: { member: 'lab-agent-2' } }));
  expect(stages).toEqual([
    ['gpu-2: stop'],
    ['gpu-1: join-token'],
    ['gpu-1: forget'],
    ['gpu-2: preflight'],
    ['gpu-2: fetch'],
    ['gpu-2: install'],
    ['gpu-2: write'],
    ['gpu-2: start'],
    ['gpu-2: wait'],
  ]);
  expect(() => plan('repair', { members: cluster() })).toThrow(expect.objectContaining({ code: 'MemberRequired' }));
});

test.each([
  'deploy',
  'change',
  'reconcile',
  'repair',
  'stop',
  'start',
  'decommission',
  'drain',
  'uncordon',
  'snapshot',
  'restore',
  'rotate-certificates',
])('%s has unique ids, consecutive stages and the same answer twice', (type) => {
  const long = 'a-very-long-name-of-an-instance-that-is-almost-a-label';
  const members = [
    memberOf('server', 1, { ...joined, name: `${long}-1` }),
    memberOf('agent', 2, { ...joined, name: `${long}-2` }),
    memberOf('agent', 3),
  ];
  const options = { members, operation: { member: `${long}-2`, parameters: { snapshot: 's-1' } } };
  const { steps } = plan(type, options);
  expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
  for (const { id } of steps) expect(id).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  expect([...new Set(steps.map(({ stage }) => stage))]).toEqual(
    Array.from({ length: Math.max(...steps.map(({ stage }) => stage)) + 1 }, (_, index) => index),
  );
  expect(plan(type, options)).toEqual({ ...plan(type, options), steps });
});

test('does not know other operations', () => {
  for (const type of ['upgrade', 'toString']) expect(() => plan(type)).toThrow(expect.objectContaining({ code: 'OperationNotSupported' }));
});

test('names a code for the exit codes of its scripts', () => {
  for (const step of plan('deploy').steps)
    if (step.type === 'process.run' && step.exitCodes) expect(Object.values(exitCodes)).toContain(step.exitCodes);
});

/** Three servers, of which the first has not been heard of for a while. */
const withoutFirst = (...more: AdapterMember[]): AdapterMember[] => [
  memberOf('server', 1, { ...joined, node: { ...memberOf('server', 1).node, isReady: false } }),
  memberOf('server', 2, joined),
  memberOf('server', 3, joined),
  ...more,
];
const placesOf = ({ steps }: Plan, script: string): string[] =>
  steps.flatMap(({ type, task, member }) => (type === 'process.run' && task.script === `kubernetes-${script}` ? [member] : []));
const configOf = ({ steps }: Plan, member: string): string =>
  steps.flatMap((step) => (step.type === 'file.write' && step.member === member ? [step.task.content] : [])).join();

test('needs no particular server: members join and leave while the first one is silent', () => {
  const found = plan('change', { members: withoutFirst(memberOf('agent', 4), memberOf('agent', 5, { ...joined, isWanted: false })) });
  expect(found.steps.filter(({ member }) => member === 'lab-server-1')).toEqual([]);
  expect(configOf(found, 'lab-agent-4')).toContain('server: "https://192.0.2.12:9345"\n');
  expect([placesOf(found, 'drain'), placesOf(found, 'forget')]).toEqual([['lab-server-2'], ['lab-server-2']]);
  const repaired = plan('repair', { members: withoutFirst(memberOf('agent', 4, joined)), operation: { member: 'lab-agent-4' } });
  expect(placesOf(repaired, 'join-token')).toEqual(['lab-server-2', 'lab-server-2']);
});

test('a server that is repaired joins the others, also the one that they have joined, and never makes a second cluster', () => {
  const members = [1, 2, 3].map((index) => memberOf('server', index, joined));
  for (const app of ['rke2', 'k3s']) {
    const repaired = plan('repair', { members, instance: instanceOf({ app }), operation: { member: 'lab-server-1' } });
    expect(configOf(repaired, 'lab-server-1')).toContain('server: "https://192.0.2.12:');
    expect(configOf(repaired, 'lab-server-1')).not.toContain('cluster-init');
  }
  const alone = plan('repair', { members: cluster(), operation: { member: 'lab-server-1' } });
  expect(configOf(alone, 'lab-server-1')).not.toContain('server: ');
});

test('a server that is repaired before the cluster was ready keeps the settings, once', () => {
  const members = [memberOf('server', 1), memberOf('agent', 2)];
  const operation = { member: 'lab-server-1' };
  expect(placesOf(plan('repair', { members, operation }), 'keep')).toEqual(['lab-server-1']);
  expect(placesOf(plan('repair', { members, operation, facts: { settings: '{"version":"v1.34.1+rke2r1"}' } }), 'keep')).toEqual([]);
});

test.each([
  ['capstan-gpu-2-1767225600', 'gpu-2'],
  ['etcd-snapshot-gpu-3-1767225600.zip', 'gpu-3'],
  ['from-elsewhere', 'gpu-1'],
])('restores %s on the server that has it', (snapshot, holder) => {
  const members = [1, 2, 3].map((index) => memberOf('server', index, joined));
  const found = plan('restore', { members, operation: { parameters: { snapshot } } });
  const [restored, ...discarded] = found.steps.flatMap((step) =>
    step.type === 'process.run' && step.task.script.endsWith('-restore') ? [step] : [],
  );
  expect([restored!.member.replace('lab-server-', 'gpu-'), restored!.task.arguments?.[1]]).toEqual([holder, 'snapshot']);
  expect(discarded.map(({ task }) => task.arguments?.[1])).toEqual(['discard', 'discard']);
  const starts = told(found)
    .flat()
    .filter((words) => words.endsWith(': start'));
  expect(starts[0]).toBe(`${holder}: start`);
  for (const { name, node } of members) expect(configOf(found, name).includes('server: ')).toBe(node.name !== holder);
});

import {
  containerOfRank,
  type GPUUnit,
  type UnitMember,
  unitContainer,
  unitLabel,
  unitNodesAnnotation,
  unitRunAnnotation,
  uploadContainer,
} from '@capstan/api';
import { withController } from '@capstan/controller';
import { formatTime, isObject, type Json, type JsonObject, type KubeObject } from '@capstan/machinery';
import { addressOf } from './nodes.ts';
import type { Scene } from './scene.ts';

/** Pods need an image. This one stands for the file system of the node. */
const nodeImage = 'node';

export function isOfRun({ metadata }: KubeObject, { status }: GPUUnit): boolean {
  return metadata.annotations?.[unitRunAnnotation] === String(status?.run);
}

/**
 * The Pod that shows a unit to tools that know Pods only: the program on its first node, and one more container for each other node. Nothing schedules
 * or runs it.
 */
export function podFor({ unit, nodeUnits }: Scene): KubeObject {
  const { name = '', namespace = '' } = unit.metadata;
  const { spec, status } = unit;
  const members = status?.members ?? [];
  const [first] = members;
  const shown = nodeUnits.find((one) => one.spec.run === status?.run && one.spec.rank === 0)?.spec;
  const { image = nodeImage } = spec;
  const limits = {
    ...(shown !== undefined && shown.cpu > 0 && { cpu: `${shown.cpu}m` }),
    ...(shown !== undefined && shown.memory > 0 && { memory: memoryText(shown.memory) }),
    ...(shown !== undefined && shown.devices.length > 0 && { 'capstan.dev/gpu': String(shown.devices.length) }),
  };
  const containerOn = (rank: number): object => ({
    name: containerOfRank(unitContainer, rank),
    image,
    imagePullPolicy: 'IfNotPresent',
    ...(spec.command && { command: spec.command }),
    ...(spec.args && { args: spec.args }),
    ...(spec.workingDirectory !== undefined && { workingDir: spec.workingDirectory }),
    ...(spec.tty && { tty: true, stdin: true }),
    // Values from Secrets are not shown, and would give rights on them to a kubelet with the name of the node.
    env: (spec.env ?? []).flatMap((one) => (one.value === undefined ? [] : [{ name: one.name, value: one.value }])),
    ports: (spec.ports ?? []).map((one) => ({ containerPort: one.port, ...(isPortName(one.name) && { name: one.name }) })),
    resources: { limits, requests: limits },
  });
  const ranks = members.length === 0 ? [0] : members.map(({ rank }) => rank);
  const uploads = ranks.map((rank) => ({
    name: containerOfRank(uploadContainer, rank),
    image,
    stdin: true,
    stdinOnce: true,
    command: ['upload'],
  }));
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { ...unit.metadata.labels, [unitLabel]: labelValue(name) },
      annotations: {
        [unitRunAnnotation]: String(status?.run),
        'kubectl.kubernetes.io/default-container': unitContainer,
        ...(members.length > 1 && { [unitNodesAnnotation]: members.map(({ node }) => node).join(',') }),
      },
    },
    spec: {
      nodeName: first?.node ?? '',
      restartPolicy: spec.restartPolicy,
      containers: ranks.map(containerOn),
      ...(spec.upload && { initContainers: uploads }),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // There is no kubelet that would confirm its end.
      terminationGracePeriodSeconds: 0,
    },
  };
  return withController(pod as unknown as KubeObject, unit);
}

const ownFields: ReadonlySet<string> = new Set([
  ...['phase', 'conditions', 'message', 'reason', 'startTime', 'hostIP', 'hostIPs', 'podIP', 'podIPs'],
  ...['initContainerStatuses', 'containerStatuses'],
]);

/** A new Pod is pending, as its unit is until its node reports something: most report that the program runs, a moment later. */
export function hasNothingToShow(pod: KubeObject, { status }: GPUUnit): boolean {
  const [{ phase, reason, message } = { phase: undefined }] = (status?.members ?? []) as readonly Partial<UnitMember>[];
  const isFresh = !isObject(pod['status']) || pod['status']['containerStatuses'] === undefined;
  return isFresh && status?.phase === 'Starting' && phase === 'Pending' && reason === undefined && message === undefined;
}

/** The status of the Pod. Fields that are not the controller's stay as they are. */
export function podStatus({ unit, node, now }: Pick<Scene, 'unit' | 'node' | 'now'>, pod: KubeObject): JsonObject {
  const { status, spec } = unit;
  const member: UnitMember = status?.members?.[0] ?? { rank: 0, node: '', phase: 'Pending' };
  const phase = podPhase(unit, member);
  const isUnknown = status?.phase === 'Unknown';
  const factsOf = (one: UnitMember): PodFacts => {
    const phaseThere = one === member ? phase : podPhase(unit, one);
    return {
      phase: phaseThere,
      isUploading: spec.upload && phaseThere === 'Pending' && ['Pending', 'Waiting'].includes(one.phase),
      isReady: phaseThere === 'Running' && one.ready === true && !isUnknown,
    };
  };
  const facts = factsOf(member);
  const members = status?.members?.length ? status.members : [member];
  const before = storedStatus(pod);
  const address = addressOf(node(member.node), '');
  const podIP = member.address ?? (spec.network === 'Host' ? address : '');
  const reason = isUnknown ? 'NodeLost' : phase === 'Failed' ? member.reason : undefined;
  const message = isUnknown || phase === 'Failed' ? status?.message : undefined;
  const startTime = before['startTime'] ?? timeOf(pod.metadata.creationTimestamp);
  return {
    ...Object.fromEntries(Object.entries(before).filter(([key]) => !ownFields.has(key))),
    phase: isUnknown ? 'Unknown' : phase,
    conditions: conditionsOf(before['conditions'], facts, now),
    ...(isIp(address) && { hostIP: address, hostIPs: [{ ip: address }] }),
    ...(isIp(podIP) && { podIP, podIPs: [{ ip: podIP }] }),
    ...(startTime !== undefined && { startTime }),
    ...(spec.upload && { initContainerStatuses: members.map((one) => uploadStatus(unit, pod, { ...factsOf(one), rank: one.rank })) }),
    containerStatuses: members.map((one) => containerStatus(unit, one, factsOf(one))),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}

/** The status as the server has it, without fields that are null. */
export function storedStatus(pod: KubeObject): JsonObject {
  return withoutNull((pod['status'] ?? {}) as JsonObject) as JsonObject;
}

function withoutNull(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, field]) => (field === null ? [] : [[key, withoutNull(field)]])));
}

function containerStatus({ spec }: GPUUnit, member: UnitMember, { phase, isReady }: PodFacts): JsonObject {
  return {
    name: containerOfRank(unitContainer, member.rank),
    image: spec.image ?? nodeImage,
    imageID: '',
    ...(member.container !== undefined && { containerID: `capstan://${member.container}` }),
    ready: isReady,
    started: phase === 'Running',
    restartCount: member.restarts ?? 0,
    state: stateOf(member, phase),
    lastState: lastStateOf(member, phase),
  };
}

function uploadStatus(
  { spec }: GPUUnit,
  { metadata }: KubeObject,
  { isUploading, rank }: PodFacts & { readonly rank: number },
): JsonObject {
  const startedAt = timeOf(metadata.creationTimestamp) ?? '';
  return {
    name: containerOfRank(uploadContainer, rank),
    image: spec.image ?? nodeImage,
    imageID: '',
    ready: !isUploading,
    started: isUploading,
    restartCount: 0,
    state: isUploading
      ? { running: { startedAt } }
      : { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt: startedAt } },
    lastState: {},
  };
}

type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

function podPhase({ status }: GPUUnit, member: UnitMember): PodPhase {
  switch (status?.phase) {
    case 'Succeeded':
      return 'Succeeded';
    case 'Failed':
      return 'Failed';
    case 'Stopped':
      return (member.exitCode ?? 0) === 0 ? 'Succeeded' : 'Failed';
    default:
      return member.startedAt === undefined ? 'Pending' : 'Running';
  }
}

function stateOf(member: UnitMember, phase: PodPhase): JsonObject {
  if (phase === 'Succeeded' || phase === 'Failed' || member.phase === 'Ended' || member.phase === 'Lost')
    return { terminated: terminated(member) };
  if (member.phase === 'Running' || member.phase === 'Stopping') return { running: times({ startedAt: member.startedAt }) };
  if (member.phase === 'Restarting')
    return { waiting: { reason: 'CrashLoopBackOff', message: member.message ?? 'waits before the next start' } };
  const message = member.step ?? member.message;
  return {
    waiting: {
      reason: member.reason ?? (member.phase === 'Preparing' ? 'ContainerCreating' : 'PodInitializing'),
      ...(message !== undefined && { message }),
    },
  };
}

/** After a restart, the outcome that a node reports is that of the start before. */
function lastStateOf(member: UnitMember, phase: PodPhase): JsonObject {
  const isAgain = phase === 'Running' && (member.restarts ?? 0) > 0;
  return (isAgain || member.phase === 'Restarting') && member.exitCode !== undefined ? { terminated: terminated(member) } : {};
}

function terminated({ exitCode = 0, reason, message, startedAt, finishedAt, lastLines }: UnitMember): JsonObject {
  const words = message ?? lastLines?.join('\n');
  return {
    exitCode,
    reason: reason === 'OutOfMemory' ? 'OOMKilled' : (reason ?? (exitCode === 0 ? 'Completed' : 'Error')),
    ...(words !== undefined && words !== '' && { message: words }),
    ...times({ startedAt, finishedAt }),
  };
}

/** Pods have times without fractions of seconds. */
function timeOf(time: string | null | undefined): string | undefined {
  return time === undefined || time === null || Number.isNaN(Date.parse(time)) ? undefined : formatTime(new Date(time));
}

function times(given: Readonly<Record<string, string | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, time]) => {
      const text = timeOf(time);
      return text === undefined ? [] : [[key, text]];
    }),
  );
}

interface PodFacts {
  readonly phase: PodPhase;
  readonly isUploading: boolean;
  readonly isReady: boolean;
}

function conditionsOf(stored: Json | undefined, { isReady, isUploading, phase }: PodFacts, now: number): JsonObject[] {
  const isDone = phase === 'Succeeded';
  const unready = isDone ? 'PodCompleted' : 'ContainersNotReady';
  const wanted = [
    { type: 'PodScheduled', holds: true },
    { type: 'Initialized', holds: !isUploading, reason: 'ContainersNotInitialized' },
    { type: 'ContainersReady', holds: isReady, reason: unready },
    { type: 'Ready', holds: isReady, reason: unready },
  ];
  const before = Array.isArray(stored) ? (stored as readonly JsonObject[]) : [];
  return wanted.map(({ type, holds, reason }) => {
    const status = holds ? 'True' : 'False';
    const old = before.find((one) => one['type'] === type);
    const lastTransitionTime = old?.['status'] === status ? old['lastTransitionTime'] : undefined;
    return {
      type,
      status,
      lastTransitionTime: lastTransitionTime ?? formatTime(new Date(now)),
      ...(!holds && reason !== undefined && { reason }),
    };
  });
}

function memoryText(bytes: number): string {
  const [unit, size] = bytes % 2 ** 30 === 0 ? ['Gi', 2 ** 30] : bytes % 2 ** 20 === 0 ? ['Mi', 2 ** 20] : ['', 1];
  return `${bytes / (size as number)}${unit}`;
}

const isPortName = (name: string): boolean => name.length <= 15 && /[a-z]/.test(name) && !name.includes('--');
const isIp = (text: string): boolean => /^[0-9]{1,3}(\.[0-9]{1,3}){3}$|^[0-9a-f]*:[0-9a-f:.]+$/.test(text);

/** A label is shorter than a name may be. */
function labelValue(name: string): string {
  return name.slice(0, 63).replace(/[^a-z0-9]+$/, '');
}

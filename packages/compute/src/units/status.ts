import type { GPUUnit, GPUUnitStatus, UnitMember, UnitPhase } from '@capstan/api';
import { type Condition, findCondition, setCondition } from '@capstan/controller';
import { formatTime } from '@capstan/machinery';
import { type Cause, firstFailure } from './ending.ts';
import { nodeStateOf } from './nodes.ts';
import { isChanged, programHash } from './program.ts';
import type { Place, Scene } from './scene.ts';

/** All conditions of a unit. */
export type UnitCondition = 'Allocated' | 'Configured' | 'StoragesReady' | 'Started' | 'Ready' | 'Isolated' | 'NodeReachable';

type Report = Pick<Condition, 'status' | 'reason' | 'message'>;

const mostWords = 4096;

/** The status with which the next start begins. It is written before anything is created for it. */
export function nextStart(
  unit: GPUUnit,
  { allocation, message }: { readonly allocation: string; readonly message: string },
): GPUUnitStatus {
  const run = (unit.status?.run ?? 0) + 1;
  return { observedGeneration: unit.metadata.generation ?? 0, phase: 'Pending', message, run, program: programHash(unit.spec), allocation };
}

/** The status of a unit that waits for something before its nodes are known. */
export function waitingStatus(scene: Scene, condition: 'Allocated' | 'Configured' | 'StoragesReady', report: Report): GPUUnitStatus {
  const status: GPUUnitStatus = { ...kept(scene.unit), phase: 'Pending', message: report.message.slice(0, mostWords) };
  return withConditions(scene, status, { [condition]: report, ...(condition !== 'Configured' && configured(scene)) });
}

/** The status that names the nodes, before anything is created on them. It is complete, so that it need not be written again before a node reports something. */
export function startingStatus(scene: Scene, nodes: readonly string[]): GPUUnitStatus {
  const places = nodes.map((node, rank): Place => {
    const state = nodeStateOf(scene.node(node));
    return { rank, node, nodeUnit: undefined, state, isFinal: false, isOver: false };
  });
  const storages: Partial<Record<UnitCondition, Report>> =
    (scene.unit.spec.mounts ?? []).length > 0 ? { StoragesReady: { status: 'True', reason: 'Ready', message: '' } } : {};
  return withConditions(scene, runningStatus(scene, places, undefined), { ...configured(scene), ...storages });
}

/** The status while programs run, start or are being stopped. */
export function runningStatus(scene: Scene, places: readonly Place[], cause: Cause | undefined): GPUUnitStatus {
  const { unit } = scene;
  const members = membersOf(unit, places);
  const silent = places.filter(({ state, isFinal }) => state.kind === 'silent' && !isFinal);
  const phase = phaseOf(places, { cause, isSilent: silent.length > 0 });
  const status: GPUUnitStatus = {
    ...kept(unit),
    phase,
    message: messageOf({ phase, cause, places, silent }).slice(0, mostWords),
    members,
    ...times(members),
    ...accessOf(unit),
  };
  return withConditions(scene, status, {
    Allocated:
      cause === 'AllocationDeleted'
        ? { status: 'False', reason: 'Deleted', message: 'its allocation was deleted' }
        : allocated(places.map(({ node }) => node)),
    ...(scene.configuration.kind === 'missing' && configured(scene)),
    NodeReachable: reachable(silent),
    ...startedReports(places, { isSilent: silent.length > 0 }),
    ...isolated(scene, places),
  });
}

/** The status of a start that has ended. Its NodeUnits are deleted after this is written. */
export function endedStatus(scene: Scene, places: readonly Place[], cause: Cause): GPUUnitStatus {
  const { unit, now } = scene;
  const members = membersOf(unit, places);
  const failure = firstFailure(places);
  const phase: UnitPhase = cause === 'Completed' ? 'Succeeded' : ['Stopped', 'TimeLimit', 'Idle'].includes(cause) ? 'Stopped' : 'Failed';
  const exitCode = cause === 'Failed' ? failure?.status?.exitCode : members.find((one) => one.exitCode !== undefined)?.exitCode;
  const message = endMessage(scene, cause, failure);
  const { startedAt, restarts } = times(members);
  const { allocation: _, message: __, ...rest } = kept(unit);
  const status: GPUUnitStatus = {
    ...rest,
    observedGeneration: unit.metadata.generation ?? 0,
    phase,
    message: message.slice(0, mostWords),
    ...(members.length > 0 && { members }),
    ...(startedAt !== undefined && { startedAt }),
    ...(restarts !== undefined && { restarts }),
    finishedAt: lastOf(members) ?? formatTime(new Date(now)),
    ...(exitCode !== undefined && { exitCode }),
  };
  return withConditions(scene, status, {
    Allocated: { status: 'False', reason: 'Released', message: 'the unit does not run' },
    Started: { status: 'False', reason: cause, message },
    Ready: { status: 'False', reason: cause, message: 'the unit does not run' },
  });
}

/** A unit whose last start has ended by itself, and which its owner has then stopped. Only such a unit starts when it is told to run. */
export function stoppedStatus(scene: Scene): GPUUnitStatus {
  const { unit } = scene;
  const status: GPUUnitStatus = { ...unit.status, observedGeneration: unit.metadata.generation ?? 0, phase: 'Stopped', message: 'stopped' };
  return withConditions(scene, status, { Started: { status: 'False', reason: 'Stopped', message: 'stopped' } });
}

/** Whether the owner has stopped it, so that `running: true` starts it. A unit that has reached its time limit stays stopped. */
export function waitsForOwner({ status }: GPUUnit): boolean {
  return status?.phase === 'Stopped' && findCondition(status.conditions, 'Started')?.reason === 'Stopped';
}

/** A changed program counts as seen when the next start begins. */
function kept(unit: GPUUnit): GPUUnitStatus {
  const { run, allocation, conditions, observedGeneration, startedAt, program } = unit.status ?? {};
  const seen = isChanged(unit)
    ? { observedGeneration: observedGeneration!, program: program! }
    : { observedGeneration: unit.metadata.generation ?? 0, program: programHash(unit.spec) };
  return {
    ...seen,
    ...(run !== undefined && { run }),
    ...(allocation !== undefined && { allocation }),
    ...(startedAt !== undefined && { startedAt }),
    ...(conditions !== undefined && { conditions }),
  };
}

/** The last report of a node stays when its NodeUnit is gone. */
export function membersOf({ status }: GPUUnit, places: readonly Place[]): UnitMember[] {
  const before = new Map((status?.members ?? []).map((one) => [one.rank, one]));
  return places.map(({ rank, node, nodeUnit }) => {
    if (nodeUnit === undefined) return before.get(rank) ?? { rank, node, phase: 'Pending' };
    const { observedGeneration: _, driver: __, idleSince: ___, phase = 'Pending', ...outcome } = nodeUnit.status ?? {};
    return { rank, node, phase, ...outcome };
  });
}

function phaseOf(
  places: readonly Place[],
  { cause, isSilent }: { readonly cause: Cause | undefined; readonly isSilent: boolean },
): UnitPhase {
  if (isSilent) return 'Unknown';
  if (cause !== undefined) return 'Stopping';
  const isUp = places.every(({ nodeUnit }) => ['Running', 'Restarting', 'Ended', 'Stopping'].includes(nodeUnit?.status?.phase ?? ''));
  return isUp ? 'Running' : 'Starting';
}

interface Words {
  readonly phase: UnitPhase;
  readonly cause: Cause | undefined;
  readonly places: readonly Place[];
  readonly silent: readonly Place[];
}

function messageOf({ phase, cause, places, silent }: Words): string {
  if (silent.length > 0) return silentWords(silent);
  if (cause !== undefined) return `stops: ${causeWords[cause]}`;
  const waiting = places.find(({ nodeUnit }) => !['Running', 'Ended'].includes(nodeUnit?.status?.phase ?? ''));
  const { step, message, phase: there } = waiting?.nodeUnit?.status ?? {};
  const where = waiting === undefined || places.length === 1 ? '' : ` on ${waiting.node}`;
  if (waiting !== undefined) {
    const words = step ?? message ?? (there === 'Waiting' ? 'waits for files or secrets' : undefined);
    if (words !== undefined) return `${words}${where}`;
  }
  if (phase !== 'Running') return `starts on ${namesOf(places)}`;
  const notice = places.map(({ nodeUnit }) => nodeUnit?.status?.message).find((one) => one !== undefined && one !== '');
  return notice === undefined ? `runs on ${namesOf(places)}` : `runs on ${namesOf(places)}: ${notice}`;
}

function silentWords(silent: readonly Place[]): string {
  const [first] = silent;
  const since = first!.state.kind === 'silent' ? first!.state.since : '';
  return silent.length === 1
    ? `node ${first!.node} has been silent since ${since}; the program may still run there`
    : `${silent.length} nodes are silent, such as ${first!.node} since ${since}; the programs may still run there`;
}

const causeWords: Readonly<Record<Cause, string>> = {
  Deleted: 'the unit is being deleted',
  Stopped: 'its owner stopped it',
  Changed: 'its program was changed',
  TimeLimit: 'it has reached maxDuration',
  Idle: 'it was idle for idleTimeout',
  AllocationDeleted: 'its allocation was deleted',
  NodeLost: 'a node was lost',
  Lost: 'it is not known how a program ended',
  Failed: 'a program failed',
  Completed: 'it has completed',
};

function endMessage({ unit }: Scene, cause: Cause, failure: GPUFailure): string {
  if (cause === 'Completed') return 'completed';
  if (cause === 'Stopped') return 'stopped';
  if ((cause !== 'Failed' && cause !== 'Lost') || failure === undefined) return causeWords[cause];
  const { exitCode, reason, message, startedAt } = failure.status ?? {};
  const where = unit.spec.nodes > 1 ? ` with rank ${failure.spec.rank}` : '';
  const how = message ?? (exitCode !== undefined && exitCode !== 0 ? `exit code ${exitCode}` : (reason ?? 'unknown reason'));
  return `the program${where} ${startedAt === undefined ? 'did not start' : 'ended'}: ${how}`;
}
type GPUFailure = ReturnType<typeof firstFailure>;

function times(members: readonly UnitMember[]): Pick<GPUUnitStatus, 'startedAt' | 'restarts'> {
  const started = members.flatMap(({ startedAt }) => startedAt ?? []).toSorted();
  const restarts = members.reduce((sum, one) => sum + (one.restarts ?? 0), 0);
  return { ...(started.length > 0 && { startedAt: started.at(-1)! }), ...(restarts > 0 && { restarts }) };
}

function lastOf(members: readonly UnitMember[]): string | undefined {
  return members
    .flatMap(({ finishedAt }) => finishedAt ?? [])
    .toSorted()
    .at(-1);
}

function accessOf({ metadata, spec }: GPUUnit): Pick<GPUUnitStatus, 'access'> {
  const port = spec.ports?.find(({ name }) => name === spec.access?.port)?.port;
  return port === undefined ? {} : { access: `capstan port-forward ${metadata.name} ${port}` };
}

function configured({ configuration }: Scene): Partial<Record<UnitCondition, Report>> {
  if (configuration.kind === 'unread') return {};
  return configuration.kind === 'complete'
    ? { Configured: { status: 'True', reason: 'Complete', message: '' } }
    : { Configured: { status: 'False', reason: 'Missing', message: configuration.message } };
}

const allocated = (nodes: readonly string[]): Report => ({ status: 'True', reason: 'Granted', message: `on ${nodes.join(', ')}` });

function reachable(silent: readonly Place[]): Report {
  return silent.length === 0
    ? { status: 'True', reason: 'Heartbeat', message: '' }
    : { status: 'False', reason: 'Silent', message: silentWords(silent) };
}

/** `Started` stays True during restarts: the time at which it became True counts for `maxDuration`. */
function startedReports(places: readonly Place[], { isSilent }: { readonly isSilent: boolean }): Partial<Record<UnitCondition, Report>> {
  const isStarted = places.every(({ nodeUnit }) => nodeUnit?.status?.startedAt !== undefined);
  const isReady = places.every(({ nodeUnit }) => nodeUnit?.status?.phase === 'Running' && nodeUnit.status.ready === true);
  const ready: Report = isReady
    ? { status: 'True', reason: 'Ready', message: '' }
    : { status: 'False', reason: 'NotReady', message: isStarted ? 'the program is not ready' : 'the program has not started' };
  return {
    ...(isStarted && { Started: { status: 'True', reason: 'Started', message: '' } }),
    Ready: isSilent ? { status: 'Unknown', reason: 'Silent', message: 'the node is silent' } : ready,
  };
}

/** Nodes say how far their drivers separate programs from each other. */
function isolated({ unit, node }: Scene, places: readonly Place[]): Partial<Record<UnitCondition, Report>> {
  const driver = unit.spec.image === undefined ? 'exec' : 'container';
  const reports = places.flatMap((place) => {
    const found = node(place.node)?.status?.unitDrivers?.find(({ name }) => name === driver);
    return found?.isolation === undefined ? [] : [{ ...found, node: place.node }];
  });
  const open = reports.find(({ isolation }) => isolation === 'none');
  if (open !== undefined) {
    const message = `on ${open.node}, the program is not separated from others${open.message === undefined ? '' : `: ${open.message}`}`;
    return { Isolated: { status: 'False', reason: 'NotIsolated', message } };
  }
  return reports.length === places.length && places.length > 0 ? { Isolated: { status: 'True', reason: 'Isolated', message: '' } } : {};
}

const namesOf = (places: readonly Place[]): string => places.map(({ node }) => node).join(', ');

function withConditions(scene: Scene, status: GPUUnitStatus, reports: Partial<Record<UnitCondition, Report>>): GPUUnitStatus {
  const observedGeneration = status.observedGeneration ?? 0;
  const now = new Date(scene.now);
  let conditions = (status.conditions ?? []) as readonly Condition[];
  for (const [type, report] of Object.entries(reports)) conditions = setCondition(conditions, { type, ...report, observedGeneration }, now);
  return { ...status, conditions } as GPUUnitStatus;
}

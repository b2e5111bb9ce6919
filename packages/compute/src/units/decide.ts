import type { Allocation, BookingEntry, GPUUnitStatus, NodeUnit } from '@capstan/api';
import { hasFinalizer } from '@capstan/controller';
import { type JsonObject, type KubeObject, sameJson } from '@capstan/machinery';
import { type Cause, causeOf, nextLimits } from './ending.ts';
import { allocationFor, allocationName, nodeUnitFor } from './making.ts';
import { mountsOf } from './mounts.ts';
import { fencedAfter, nodeOf, nodeStateOf } from './nodes.ts';
import { hasNothingToShow, isOfRun, podFor, podStatus, storedStatus } from './pod.ts';
import { isChanged } from './program.ts';
import { allocationOf, isNodeUnitOver, isOver, type Place, placesOf, type Scene } from './scene.ts';
import { endedStatus, nextStart, runningStatus, startingStatus, stoppedStatus, waitingStatus, waitsForOwner } from './status.ts';
import { problemOf } from './validate.ts';

/** The next thing to do for a unit. Afterwards, or after a crash, everything is looked at again. */
export type Step =
  | { readonly kind: 'protect' }
  | { readonly kind: 'status'; readonly status: GPUUnitStatus }
  /** Read the Secrets and ConfigMaps that the unit names. */
  | { readonly kind: 'configure' }
  /** With a status: at the same time as it, in any order. */
  | { readonly kind: 'allocate'; readonly allocation: Allocation; readonly status?: GPUUnitStatus }
  /** Read the bookings of these nodes, which no copy has yet. */
  | { readonly kind: 'readBookings'; readonly nodes: readonly string[] }
  | { readonly kind: 'start'; readonly nodeUnits: readonly NodeUnit[] }
  | { readonly kind: 'sendSecrets'; readonly nodeUnits: readonly NodeUnit[] }
  | { readonly kind: 'stop'; readonly nodeUnits: readonly NodeUnit[]; readonly reason: 'Stopped' | 'TimeLimit' | 'Idle' }
  /** Ask the server whether these nodes have a NodeUnit of the current start. */
  | { readonly kind: 'look'; readonly nodes: readonly string[] }
  | { readonly kind: 'remove'; readonly nodeUnits: readonly NodeUnit[] }
  | { readonly kind: 'release'; readonly allocations: readonly Allocation[] }
  | { readonly kind: 'showPod'; readonly pod: KubeObject }
  | { readonly kind: 'reportPod'; readonly pod: KubeObject; readonly status: JsonObject }
  | { readonly kind: 'hidePod'; readonly pod: KubeObject }
  | { readonly kind: 'letGo' }
  /** Nothing until something changes; in milliseconds. */
  | { readonly kind: 'wait'; readonly atMost?: number };

const waits = 'waits for an allocation';

export const unitFinalizer = 'compute.capstan.dev/node-units';

/** Decides the next step from the objects alone. A crash between two steps leaves nothing behind that the next decision does not see. */
export function decide(scene: Scene): Step {
  const { unit } = scene;
  if (unit.metadata.deletionTimestamp !== undefined) return hasFinalizer(unit, unitFinalizer) ? leave(scene) : wait();
  const { status } = unit;
  if (status?.run === undefined || isOver(status)) return rest(scene);
  const places = placesOf(scene);
  const cause = causeOf(scene, places);
  if (cause !== undefined) return end(scene, places, cause);
  return places.length === 0 ? prepare(scene) : keepRunning(scene, places);
}

const wait = (atMost?: number): Step => ({ kind: 'wait', ...(atMost !== undefined && { atMost: Math.max(1, atMost) }) });

/** Nothing runs, or nothing should: begins the next start, or puts away what the last one has left. */
function rest(scene: Scene): Step {
  const { unit } = scene;
  const { spec, status } = unit;
  const isWanted = status?.run === undefined || waitsForOwner(unit) || isChanged(unit);
  if (spec.running && isWanted)
    return order(scene, nextStart(unit, { allocation: allocationName(unit, (status?.run ?? 0) + 1), message: waits }));
  return (
    tidy(scene) ??
    report(scene, spec.running || (status?.phase === 'Stopped' && waitsForOwner(unit)) ? seenStatus(scene) : stoppedStatus(scene)) ??
    showPod(scene) ??
    wait()
  );
}

/**
 * Begins a start, and orders its allocation at the same time if nothing has to happen before. The name of the allocation follows from the number of the start, so that
 * the next decision also finds one whose start was not recorded.
 */
function order(scene: Scene, status: GPUUnitStatus): Step {
  const next = prepare({ ...scene, unit: { ...scene.unit, status } });
  return next.kind === 'allocate' ? { ...next, status } : { kind: 'status', status };
}

function begin({ unit }: Scene, allocation: string, message: string): Step {
  return { kind: 'status', status: nextStart(unit, { allocation, message }) };
}

function seenStatus({ unit }: Scene): GPUUnitStatus {
  return { ...unit.status, ...(unit.status?.run !== undefined && { observedGeneration: unit.metadata.generation ?? 0 }) };
}

/** Removes what earlier starts have left: NodeUnits that are over, and allocations that are not the current one. */
function tidy(scene: Scene): Step | undefined {
  const { unit, nodeUnits, allocations } = scene;
  const { run = 0, allocation } = unit.status ?? {};
  const isPast = isOver(unit.status) || unit.status?.run === undefined;
  const past = nodeUnits.filter(({ spec }) => isPast || spec.run < run);
  const running = past.filter((one) => !one.spec.stopped && !isNodeUnitOver(one, scene));
  if (running.length > 0) return { kind: 'stop', nodeUnits: running, reason: 'Stopped' };
  const over = past.filter((one) => isNodeUnitOver(one, scene) && isKnownToBeOver(one, scene));
  if (over.length > 0) return { kind: 'remove', nodeUnits: over };
  const useless = allocations.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && (isPast || metadata.name !== allocation),
  );
  return useless.length > 0 ? { kind: 'release', allocations: useless } : undefined;
}

/** A unit that its node had to end by itself stays in the API until the node says so: the node would start a NodeUnit that it has never seen stopped. */
function isKnownToBeOver(nodeUnit: NodeUnit, scene: Scene): boolean {
  return isNodeUnitOver(nodeUnit, { ...scene, silence: () => 0 });
}

/** Before the nodes are known. */
function prepare(scene: Scene): Step {
  const { unit, configuration } = scene;
  const problem = problemOf(scene);
  if (problem !== undefined)
    return report(scene, waitingStatus(scene, 'Configured', { status: 'False', reason: 'Invalid', message: problem })) ?? wait();
  if (configuration.kind === 'unread') return { kind: 'configure' };
  if (configuration.kind === 'missing')
    return (
      report(scene, waitingStatus(scene, 'Configured', { status: 'False', reason: 'Missing', message: configuration.message })) ??
      wait(lookAgain(scene))
    );
  const tidied = tidy(scene);
  if (tidied !== undefined) return tidied;
  const mounts = mountsOf(unit, scene.storage);
  if (mounts.kind !== 'ready') return waitForStorages(scene, mounts);
  const allocation = allocationOf(scene);
  if (allocation === undefined) return { kind: 'allocate', allocation: allocationFor(unit, mounts) };
  // While the scheduler works. The allocation has an owner reference; everything that comes later needs the finalizer.
  if (!hasFinalizer(unit, unitFinalizer)) return { kind: 'protect' };
  const { phase, message, parts = [], conditions = [] } = allocation.status ?? {};
  // An order cannot be changed, so another one takes its place.
  const isElsewhere = mounts.node !== undefined && (phase === 'Active' ? parts[0]?.node : allocation.spec.node) !== mounts.node;
  if (isElsewhere || (phase !== 'Active' && allocation.spec.priority !== unit.spec.priority))
    return begin(scene, allocationName(unit, (unit.status?.run ?? 0) + 1), 'waits for an allocation');
  // The scheduler has not looked at it yet, and most orders are granted at once.
  if (phase === undefined && allocation.metadata.deletionTimestamp === undefined) return wait();
  if (phase !== 'Active' || allocation.metadata.deletionTimestamp !== undefined) {
    const reason = conditions.find(({ type }) => type === 'Granted')?.reason ?? 'Waiting';
    const words =
      allocation.metadata.deletionTimestamp === undefined ? (message ?? 'waits for an allocation') : 'its allocation is being deleted';
    return report(scene, waitingStatus(scene, 'Allocated', { status: 'False', reason, message: words })) ?? wait();
  }
  // The storages controller sees the allocation, too, and chooses its node.
  if (mounts.unbound.length > 0)
    return waitForStorages(scene, { kind: 'waiting', message: `waits for the storage ${mounts.unbound[0]} on ${parts[0]!.node}` });
  const missing = parts.filter(({ node }) => scene.booking(node, allocation) === undefined);
  if (missing.length > 0) return readBookings(scene, missing);
  return {
    kind: 'status',
    status: startingStatus(
      scene,
      parts.map(({ node }) => node),
    ),
  };
}

/** A unit keeps its allocation while a storage is prepared, and gives it back if somebody has to help first. */
function waitForStorages(scene: Scene, { kind, message }: { readonly kind: 'waiting' | 'failed'; readonly message: string }): Step {
  const held = scene.allocations.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (kind === 'failed' && held.length > 0) return { kind: 'release', allocations: held };
  const reason = kind === 'failed' ? 'Failed' : 'Waiting';
  return report(scene, waitingStatus(scene, 'StoragesReady', { status: 'False', reason, message })) ?? wait();
}

/** Copies may be behind. An allocation whose booking was removed by hand never starts. */
function readBookings(scene: Scene, missing: readonly { readonly node: string }[]): Step {
  const unread = missing.filter(({ node }) => !scene.readBookings.has(node));
  if (unread.length > 0) return { kind: 'readBookings', nodes: unread.map(({ node }) => node) };
  const message = `node ${missing[0]!.node} has no booking of its allocation`;
  return report(scene, waitingStatus(scene, 'Allocated', { status: 'False', reason: 'NotBooked', message })) ?? wait();
}

/** In milliseconds: Secrets and ConfigMaps are not watched, so missing ones are looked for again. */
function lookAgain({ unit, now }: Scene): number {
  const since = Date.parse(unit.status?.conditions?.find(({ type }) => type === 'Configured')?.lastTransitionTime ?? '') || now;
  return Math.min(30_000, Math.max(500, (now - since) / 5));
}

function keepRunning(scene: Scene, places: readonly Place[]): Step {
  const missing = places.filter(({ nodeUnit }) => nodeUnit === undefined);
  if (missing.length > 0) return start(scene, missing);
  const again = scene.configuration.kind === 'missing' ? lookAgain(scene) : undefined;
  return (
    tidy(scene) ??
    report(scene, runningStatus(scene, places, undefined)) ??
    showPod(scene) ??
    sendSecrets(scene, places) ??
    fence(scene, places) ??
    wait(soonest(scene, places, again))
  );
}

function sendSecrets({ configuration, sent }: Scene, places: readonly Place[]): Step | undefined {
  if (configuration.kind === 'missing') return undefined;
  const asking = places.flatMap(({ nodeUnit }) =>
    nodeUnit?.spec.secrets === true && asksForSecrets(nodeUnit) && !sent.has(nodeOf(nodeUnit)) ? [nodeUnit] : [],
  );
  return asking.length > 0 ? { kind: 'sendSecrets', nodeUnits: asking } : undefined;
}

/** The agent waits for them, also after it has lost them. */
function asksForSecrets({ status }: NodeUnit): boolean {
  return status?.phase === 'Waiting' && status.reason !== 'UploadMissing';
}

/** Creates NodeUnits, as soon as nothing of an earlier start runs. The status names their nodes already. */
function start(scene: Scene, missing: readonly Place[]): Step {
  const { unit, nodeUnits } = scene;
  const run = unit.status?.run ?? 0;
  const before = nodeUnits.filter((one) => one.spec.run < run && !isNodeUnitOver(one, scene));
  if (before.length > 0) return tidy(scene) ?? wait(soonestFence(scene, before));
  const allocation = allocationOf(scene)!;
  const entries = missing.map(({ node }) => scene.booking(node, allocation));
  const unbooked = missing.filter((_, index) => entries[index] === undefined);
  if (unbooked.length > 0) return startLater(scene, allocation, unbooked);
  const made = missing.map(({ rank }, index) => nodeUnitFor(scene, { allocation, entry: entries[index] as BookingEntry, rank }));
  return { kind: 'start', nodeUnits: made };
}

/** The status named its nodes before the allocation did, and may have been wrong. It forgets them once the server has said that nothing was created there. */
function startLater(scene: Scene, allocation: Allocation, places: readonly Place[]): Step {
  if (allocation.status?.phase === 'Active' && places.some(({ node }) => !scene.readBookings.has(node))) return readBookings(scene, places);
  const unsure = places.filter(({ node }) => !scene.absent.has(node));
  if (unsure.length > 0) return { kind: 'look', nodes: unsure.map(({ node }) => node) };
  if (allocation.status?.phase === 'Active') return readBookings(scene, places);
  return report(scene, waitingStatus(scene, 'Allocated', { status: 'False', reason: 'Waiting', message: waits })) ?? wait();
}

/** Stops a unit that its node has surely ended by itself, so that it counts as over. */
function fence(scene: Scene, places: readonly Place[]): Step | undefined {
  const due = places.flatMap(({ nodeUnit, node, state, isOver: over }) => {
    const after = nodeUnit === undefined || over || state.kind !== 'silent' || nodeUnit.spec.stopped ? undefined : fencedAfter(nodeUnit);
    return after !== undefined && scene.silence(node) >= after ? [nodeUnit!] : [];
  });
  return due.length > 0 ? { kind: 'stop', nodeUnits: due, reason: 'Stopped' } : undefined;
}

/** Ends the current start, waits until nothing of it runs, and records the outcome. */
function end(scene: Scene, places: readonly Place[], cause: Cause): Step {
  const live = places.filter(({ isOver: over, nodeUnit }) => !over && nodeUnit !== undefined);
  const running = live.flatMap(({ nodeUnit }) => (nodeUnit!.spec.stopped ? [] : [nodeUnit!]));
  if (running.length > 0)
    return { kind: 'stop', nodeUnits: running, reason: cause === 'TimeLimit' || cause === 'Idle' ? cause : 'Stopped' };
  // The copies may lack something that was created a moment ago.
  const unsure = places.filter(({ isOver: over, nodeUnit }) => !over && nodeUnit === undefined);
  if (unsure.length > 0) return { kind: 'look', nodes: unsure.map(({ node }) => node) };
  if (live.length > 0)
    return (
      report(scene, runningStatus(scene, places, cause)) ??
      showPod(scene) ??
      wait(
        soonestFence(
          scene,
          live.map(({ nodeUnit }) => nodeUnit!),
        ),
      )
    );
  return conclude(scene, places, cause);
}

function conclude(scene: Scene, places: readonly Place[], cause: Cause): Step {
  const { unit } = scene;
  const isAgain = cause === 'Changed' || cause === 'NodeLost' || (cause === 'Lost' && unit.spec.restartPolicy !== 'Never');
  if (!isAgain) return { kind: 'status', status: endedStatus(scene, places, cause) };
  const message = { Changed: 'starts with its changed program', NodeLost: 'starts elsewhere: its node was lost', Lost: 'starts again' }[
    cause as 'Lost'
  ];
  const next = allocationName(unit, (unit.status?.run ?? 0) + 1);
  return begin(scene, canKeep(scene, places) ? unit.status!.allocation! : next, message);
}

/** The next start takes the same devices if they are there. */
function canKeep(scene: Scene, places: readonly Place[]): boolean {
  const allocation = allocationOf(scene);
  return (
    allocation !== undefined &&
    allocation.metadata.deletionTimestamp === undefined &&
    places.every(({ state, isFinal, nodeUnit }) => state.kind === 'heard' && (isFinal || nodeUnit === undefined))
  );
}

/** Deletes everything that belongs to the unit, and waits for programs only on nodes that can be heard. */
function leave(scene: Scene): Step {
  const { nodeUnits, allocations, pod } = scene;
  const running = nodeUnits.filter((one) => !one.spec.stopped && !isNodeUnitOver(one, scene));
  if (running.length > 0) return { kind: 'stop', nodeUnits: running, reason: 'Stopped' };
  const places = placesOf(scene);
  const unsure = isOver(scene.unit.status) ? [] : places.filter(({ isOver: over, nodeUnit }) => !over && nodeUnit === undefined);
  if (unsure.length > 0) return { kind: 'look', nodes: unsure.map(({ node }) => node) };
  const known = nodeUnits.filter((one) => isKnownToBeOver(one, scene));
  const live = nodeUnits.filter((one) => !isNodeUnitOver(one, scene) && isHeard(one, scene));
  if (live.length > 0) return report(scene, runningStatus(scene, places, 'Deleted')) ?? showPod(scene) ?? wait();
  if (known.length > 0) return { kind: 'remove', nodeUnits: known };
  const left = allocations.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (left.length > 0) return { kind: 'release', allocations: left };
  return pod === undefined ? { kind: 'letGo' } : { kind: 'hidePod', pod };
}

const isHeard = (nodeUnit: NodeUnit, { node }: Scene): boolean => nodeStateOf(node(nodeOf(nodeUnit))).kind === 'heard';

function report({ unit }: Scene, status: GPUUnitStatus): Step | undefined {
  return sameJson(unit.status ?? {}, status) ? undefined : { kind: 'status', status };
}

/** The Pod that shows the unit. It is made anew for another start. */
function showPod(scene: Scene): Step | undefined {
  const { unit, pod } = scene;
  if ((unit.status?.members ?? []).length === 0 || scene.isPodTaken) return undefined;
  if (pod === undefined) return { kind: 'showPod', pod: podFor(scene) };
  if (!isOfRun(pod, unit)) return { kind: 'hidePod', pod };
  if (hasNothingToShow(pod, unit)) return undefined;
  const status = podStatus(scene, pod);
  return sameJson(storedStatus(pod), status) ? undefined : { kind: 'reportPod', pod, status };
}

function soonest(scene: Scene, places: readonly Place[], other: number | undefined): number | undefined {
  const fences = places.flatMap(({ nodeUnit, state }) => (state.kind === 'silent' && nodeUnit !== undefined ? [nodeUnit] : []));
  const all = [...nextLimits(scene, places).map(({ left }) => left), soonestFence(scene, fences), other].filter((one) => one !== undefined);
  return all.length === 0 ? undefined : Math.min(...all);
}

function soonestFence(scene: Scene, nodeUnits: readonly NodeUnit[]): number | undefined {
  const left = nodeUnits.flatMap((one) => {
    const after = fencedAfter(one);
    return after === undefined ? [] : [after - scene.silence(nodeOf(one))];
  });
  return left.length === 0 ? undefined : Math.min(...left);
}

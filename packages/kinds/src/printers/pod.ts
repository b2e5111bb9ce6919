import { age, type Fields, fieldsOf, itemsOf, type KubeObject, maybeFields, numberOf, textOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer } from './columns.ts';
import { none, textOr } from './format.ts';

/** Totals over the containers of a pod. */
interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  /** When the last restarted container ended; empty if none was restarted. */
  lastRestart: string;
}

function conditionIs(pod: KubeObject, type: string): boolean {
  return itemsOf(fieldsOf(pod['status'])['conditions']).find((condition) => condition['type'] === type)?.['status'] === 'True';
}

function stays(container: Fields | undefined): boolean {
  return container?.['restartPolicy'] === 'Always';
}

function later(left: string, status: Fields): string {
  const finished = textOf(fieldsOf(fieldsOf(status['lastState'])['terminated'])['finishedAt']);
  return finished > left ? finished : left;
}

function endOf(terminated: Fields): string {
  const reason = textOf(terminated['reason']);
  if (reason !== '') return reason;
  return numberOf(terminated['signal']) === 0 ? `ExitCode:${numberOf(terminated['exitCode'])}` : `Signal:${numberOf(terminated['signal'])}`;
}

interface Initialization extends Summary {
  finished: boolean;
  /** Restarts of sidecar containers: of the init containers, only these count once the pod is initialized. */
  sidecarRestarts: number;
  sidecarLastRestart: string;
}

function initialization(pod: KubeObject, reason: string): Initialization {
  const declared = itemsOf(fieldsOf(pod['spec'])['initContainers']);
  const byName = Map.groupBy(declared, ({ name }) => name);
  const found: Initialization = {
    reason,
    ready: 0,
    restarts: 0,
    lastRestart: '',
    finished: true,
    sidecarRestarts: 0,
    sidecarLastRestart: '',
  };
  for (const [index, status] of itemsOf(fieldsOf(pod['status'])['initContainerStatuses']).entries()) {
    const sidecar = stays(byName.get(status['name'])?.[0]);
    found.restarts += numberOf(status['restartCount']);
    found.lastRestart = later(found.lastRestart, status);
    if (sidecar) {
      found.sidecarRestarts += numberOf(status['restartCount']);
      found.sidecarLastRestart = later(found.sidecarLastRestart, status);
    }
    const state = fieldsOf(status['state']);
    const terminated = maybeFields(state['terminated']);
    if (terminated !== undefined && numberOf(terminated['exitCode']) === 0) continue;
    if (sidecar && status['started'] === true) {
      if (status['ready'] === true) found.ready++;
      continue;
    }
    const waiting = textOf(fieldsOf(state['waiting'])['reason']);
    if (terminated !== undefined) found.reason = `Init:${endOf(terminated)}`;
    else if (waiting !== '' && waiting !== 'PodInitializing') found.reason = `Init:${waiting}`;
    else found.reason = `Init:${index}/${declared.length}`;
    found.finished = false;
    break;
  }
  return found;
}

function running(pod: KubeObject, initial: Initialization): Summary {
  const found: Summary = {
    reason: initial.reason,
    ready: initial.ready,
    restarts: initial.sidecarRestarts,
    lastRestart: initial.sidecarLastRestart,
  };
  let someRun = false;
  for (const status of itemsOf(fieldsOf(pod['status'])['containerStatuses']).toReversed()) {
    found.restarts += numberOf(status['restartCount']);
    found.lastRestart = later(found.lastRestart, status);
    const state = fieldsOf(status['state']);
    const waiting = textOf(fieldsOf(state['waiting'])['reason']);
    const terminated = maybeFields(state['terminated']);
    if (waiting !== '') found.reason = waiting;
    else if (terminated !== undefined) found.reason = endOf(terminated);
    else if (status['ready'] === true && maybeFields(state['running']) !== undefined) {
      someRun = true;
      found.ready++;
    }
  }
  if (found.reason === 'Completed' && someRun) found.reason = conditionIs(pod, 'Ready') ? 'Running' : 'NotReady';
  return found;
}

function summary(pod: KubeObject): Summary {
  const status = fieldsOf(pod['status']);
  const gated = itemsOf(status['conditions']).some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  const initial = initialization(pod, gated ? 'SchedulingGated' : textOr(status['reason'], textOf(status['phase'])));
  const found: Summary = initial.finished || conditionIs(pod, 'Initialized') ? running(pod, initial) : initial;
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status['reason'] === 'NodeLost') found.reason = 'Unknown';
    else if (status['phase'] !== 'Succeeded' && status['phase'] !== 'Failed') found.reason = 'Terminating';
  }
  return found;
}

function readinessGates(pod: KubeObject): string {
  const gates = itemsOf(fieldsOf(pod['spec'])['readinessGates']);
  if (gates.length === 0) return none;
  return `${gates.filter((gate) => conditionIs(pod, textOf(gate['conditionType']))).length}/${gates.length}`;
}

const ended: ReadonlyMap<unknown, readonly object[]> = new Map([
  ['Succeeded', [{ type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' }]],
  ['Failed', [{ type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' }]],
]);

const podCells = printer(
  '!Name, Ready, Status, Restarts, Age, +IP, +Node, +Nominated Node, +Readiness Gates',
  ({ object: pod, name, age: created, spec, status, now }) => {
    const { reason, ready, restarts, lastRestart } = summary(pod);
    const total = itemsOf(spec['containers']).length + itemsOf(spec['initContainers']).filter(stays).length;
    return [
      name,
      `${ready}/${total}`,
      reason,
      restarts !== 0 && lastRestart !== '' ? `${restarts} (${age(lastRestart, now)} ago)` : String(restarts),
      created,
      textOr(itemsOf(status['podIPs'])[0]?.['ip'], none),
      textOr(spec['nodeName'], none),
      textOr(status['nominatedNodeName'], none),
      readinessGates(pod),
    ];
  },
);

export const podPrinter: TablePrinter = { ...podCells, rowConditions: (pod) => ended.get(fieldsOf(pod['status'])['phase']) };

import { done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { formatTime } from '@capstan/machinery';

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly { readonly type: string }[] };
}

/** The actions available to the step. */
export interface PendingActions {
  readonly hasNodes: () => boolean;
  /** In milliseconds: how long a scheduler may take to look at a new pod. */
  readonly patience: number;
  /** Creates an event, unless one of that name exists. */
  readonly record: (event: KubeObject) => Promise<void>;
  readonly now: () => Date;
}

const component = 'capstan';
const message =
  'no nodes are attached to this control plane, so nothing runs pods: this pod is stored, and stays Pending until nodes and a scheduler are there';

/** Records an event for a pod that nothing will run. */
export async function explainPending(pod: Pod | undefined, actions: PendingActions): Promise<Result> {
  if (pod === undefined || !isUnattended(pod) || actions.hasNodes()) return done;
  const age = actions.now().getTime() - Date.parse(pod.metadata.creationTimestamp ?? '');
  if (age < actions.patience) return requeueAfter(actions.patience - age);
  await actions.record(eventFor(pod, actions.now()));
  return done;
}

function isUnattended({ metadata, spec, status }: Pod): boolean {
  if ((spec?.nodeName ?? '') !== '' || metadata.deletionTimestamp !== undefined) return false;
  return (status?.phase ?? 'Pending') === 'Pending' && !(status?.conditions ?? []).some(({ type }) => type === 'PodScheduled');
}

function eventFor({ metadata: { name = '', namespace = '', uid = '', resourceVersion = '' } }: Pod, now: Date): KubeObject {
  const time = formatTime(now);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, 200)}.${uid}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid, resourceVersion },
    type: 'Warning',
    reason: 'FailedScheduling',
    message,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component },
    reportingComponent: component,
    reportingInstance: component,
  };
}

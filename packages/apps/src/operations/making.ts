import {
  type AppInstance,
  type AppOperation,
  appInstanceLabel,
  type NodeTask,
  newObject,
  nodeNamespace,
  nodeTaskKind,
  taskSecretLabel,
  taskTypes,
} from '@capstan/api';
import { withOrigin, withRequester } from '@capstan/controller';
import { type Json, type JsonObject, type KubeObject, sameJson } from '@capstan/machinery';
import type { PlannedStep } from '../adapter/contract.ts';
import { mentionsIn, withFacts } from '../checking/placeholders.ts';
import type { KeptValues } from '../keeping/kept-values.ts';
import { operationLabel } from './labels.ts';
import { probeName } from './task-names.ts';

interface StepTask {
  readonly task: NodeTask;
  /** The Secret with the values that the task needs; undefined if it needs none. */
  readonly secret: KubeObject | undefined;
}

interface Maker {
  readonly instance: AppInstance;
  readonly operation: AppOperation;
  readonly values: KeptValues;
}

/** The task of one attempt of a step, with facts in place of their names. Secrets are in an object of their own, which goes with the task. */
export function taskFor(
  { step, node, name }: { readonly step: PlannedStep; readonly node: string; readonly name: string },
  { instance, operation, values }: Maker,
): StepTask {
  const { secrets } = mentionsIn(step.task);
  const parameters = withFacts(step.task as unknown as Json, values.facts, secrets.size > 0);
  const namespace = nodeNamespace(node);
  const labels = { [appInstanceLabel]: instance.metadata.uid ?? '', [operationLabel]: operation.metadata.uid ?? '' };
  const spec = {
    type: step.type,
    ...(step.deadline !== undefined && { deadline: step.deadline }),
    ...(secrets.size > 0 && { secret: name }),
    [taskTypes[step.type]]: parameters,
  };
  const task = newObject(nodeTaskKind, { metadata: { name, namespace, labels }, spec } as never) as NodeTask;
  const data = Object.fromEntries([...secrets].map((key) => [key, Buffer.from(values.secrets.get(key) ?? '').toString('base64')]));
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { ...labels, [taskSecretLabel]: 'true' } },
    data: data as JsonObject,
  };
  return { task: withRequester(withOrigin(task, instance), operation), secret: secrets.size > 0 ? secret : undefined };
}

/** A script that looks at a member, exactly as it is now. */
export interface Probe {
  readonly script: string;
  readonly arguments: readonly string[];
  readonly sha256: string;
}

/** Whether the task of a probe runs it as it is now. */
export function isCurrentProbe({ spec }: NodeTask, { script, sha256, arguments: words }: Probe): boolean {
  const { script: known, sha256: hash, arguments: args = [] } = spec.processRun ?? {};
  return known === script && hash === sha256 && sameJson(args, words);
}

/** The next attempt of a probe. */
export function nextProbe(
  { spec }: NodeTask,
  { script, sha256, arguments: words }: Probe,
): Pick<NodeTask['spec'], 'attempt' | 'processRun'> {
  return { attempt: spec.attempt + 1, processRun: { script, sha256, arguments: words } };
}

/** The task that looks at a member again and again. */
export function probeTask(instance: AppInstance, { uid, node }: { readonly uid: string; readonly node: string }, probe: Probe): NodeTask {
  const { script, sha256, arguments: words } = probe;
  const task = newObject(nodeTaskKind, {
    metadata: { name: probeName(uid), namespace: nodeNamespace(node), labels: { [appInstanceLabel]: instance.metadata.uid ?? '' } },
    spec: { type: 'process.run', deadline: '60s', processRun: { script, sha256, ...(words.length > 0 && { arguments: words }) } },
  }) as NodeTask;
  return withOrigin(task, instance);
}

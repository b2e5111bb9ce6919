import { duration, immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, keyedList, object, optional, type ReadOf, type Rule, text, withDefault } from '../definition/schema.ts';
import { fleetGroup } from './fields.ts';
import { type TaskField, type TaskTypeName, taskFields, taskTypes } from './task-types.ts';

const typeNames = Object.keys(taskTypes) as TaskTypeName[];

/** The phases of a task. `Unknown`: the node is silent, or the agent does not know whether the task ran. */
export const taskPhases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Cancelled', 'Unknown'] as const;
export type TaskPhase = (typeof taskPhases)[number];

const error = object('Why the task failed.', {
  code: text('A word for programs, such as `DeadlineExceeded`.', { minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z0-9]*$' }),
  message: text('Details for people.', { maxLength: 4096 }),
  userFixable: flag('Whether the person who asked can fix it.'),
  retryable: flag('Whether trying again may help.'),
});

export type TaskError = ReadOf<typeof error>;

/** Every type has its parameters and no others. */
const parameterRules: readonly Rule[] = Object.entries(taskTypes).map(([type, field]) => ({
  rule: `(self.type == '${type}') == has(self.${field})`,
  message: `must have ${field} if the type is ${type}, and only then`,
  fieldPath: `.${field}`,
}));

const parameters = {
  fileWrite: optional(taskFields.fileWrite),
  artifactFetch: optional(taskFields.artifactFetch),
  packageEnsure: optional(taskFields.packageEnsure),
  serviceEnsure: optional(taskFields.serviceEnsure),
  processRun: optional(taskFields.processRun),
  probeHttp: optional(taskFields.probeHttp),
  probeTcp: optional(taskFields.probeTcp),
  probeCommand: optional(taskFields.probeCommand),
  collectLogs: optional(taskFields.collectLogs),
  gpuInspect: optional(taskFields.gpuInspect),
  gpuAccept: optional(taskFields.gpuAccept),
  nodeClean: optional(taskFields.nodeClean),
} satisfies Readonly<Record<TaskField, unknown>>;

export const nodeTaskKind = defineKind({
  group: fleetGroup,
  kind: 'NodeTask',
  plural: 'nodetasks',
  singular: 'nodetask',
  shortNames: ['task', 'tasks'],
  categories: ['capstan'],
  scope: 'Namespaced',
  streams: ['log'],
  description:
    'Work that the agent of a node does once, in the namespace of that node. The agent runs it at most once for each attempt, also if the agent, the machine or ' +
    'the control plane restarts in between.',
  versions: {
    v1alpha1: {
      spec: object(
        'The work.',
        {
          type: choice('Type of the task. The field of the same name has its parameters.', typeNames, { rules: [immutable] }),
          deadline: withDefault(duration('How long the task may take, from its start.'), '10m'),
          attempt: withDefault(integer('Raise it to run a task again that has ended.', { minimum: 1, maximum: 1000 }), 1),
          cancelled: withDefault(flag('Ends the task and everything that it started.'), false),
          secret: optional(
            objectName(
              'Secret in the namespace of the node, with the label `fleet.capstan.dev/task-secret`. `${secret:key}` in the content of `file.write`, the arguments and environment of ' +
                '`process.run` and the environment of `service.ensure` becomes its value, and `$${` becomes `${`. Other accounts of the machine can see arguments. Without this field, text stays as it is.',
              { rules: [immutable] },
            ),
          ),
          ...parameters,
        },
        { rules: parameterRules },
      ),
      status: object('Progress of the task.', {
        phase: withDefault(choice('How far the task is.', [...taskPhases]), 'Pending'),
        attempt: optional(integer('The attempt that this status describes.', { minimum: 1 })),
        step: optional(text('The current step.', { maxLength: 256 })),
        skipped: optional(flag('Whether there was nothing to do.')),
        startedAt: optional(timestamp('Time at which the attempt began.')),
        claim: optional(
          text('Identifies the machine that began the attempt, should several have the identity of the node.', { maxLength: 64 }),
        ),
        finishedAt: optional(timestamp('Time at which the attempt ended.')),
        exitCode: optional(integer('Exit code of its program.')),
        error: optional(error),
        output: optional(
          object('The output that the agent keeps.', {
            bytes: integer('Size.', { minimum: 0 }),
            truncated: flag('Whether output beyond the limit was discarded.'),
          }),
        ),
        report: optional(
          keyedList(
            'Findings of the task, such as what could not be removed.',
            object('One finding.', {
              name: text('The subject, such as a path or a mount.', { minLength: 1, maxLength: 253 }),
              message: text('The finding.', { maxLength: 1024 }),
            }),
            { keys: ['name'], maxItems: 256 },
          ),
        ),
      }),
      columns: [
        { name: 'Type', type: 'string', path: '.spec.type' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Step', type: 'string', path: '.status.step', priority: 1 },
        { name: 'Exit', type: 'integer', path: '.status.exitCode', priority: 1 },
        { name: 'Error', type: 'string', path: '.status.error.code' },
      ],
    },
  },
});

export type NodeTask = ObjectOf<typeof nodeTaskKind>;
export type NodeTaskStatus = NonNullable<NodeTask['status']>;

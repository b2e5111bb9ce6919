import { type Fields, fieldsOf, type KubeObject, maybeFields, names, numberOf, sameJson, stringMapOf, textOf } from '@capstan/machinery';
import { claimSpec, defaultTemplate } from '../pods/pod-defaults.ts';
import { withTemplateWarnings } from '../pods/warnings.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import { separateStatus } from '../shared/status.ts';
import { validateCollisions, validateCounts } from '../shared/status-counts.ts';
import type { Strategy } from '../strategy.ts';
import {
  validateDaemonSet,
  validateDeployment,
  validateReplicaSet,
  validateReplicationController,
  validateRevision,
  validateRevisionData,
  validateRevisionUpdate,
  validateSelectorUpdate,
  validateStatefulSet,
  validateStatefulSetUpdate,
} from './apps-validation.ts';

/** Sets the defaults of `rollingUpdate` if that is the strategy's type. */
function defaultRolling(strategy: Fields, rolling: Defaults): void {
  if (textOf(strategy['type']) === '') strategy['type'] = 'RollingUpdate';
  if (strategy['type'] === 'RollingUpdate') applyDefaults(made(strategy, 'rollingUpdate'), rolling);
}

const deployment: Defaults = { set: { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 } };
/** A deployment's annotations are copied to its replica sets, so changing them increments the generation. */
function countAnnotations(object: KubeObject, old: KubeObject): void {
  if (sameJson(object.metadata.annotations, old.metadata.annotations)) return;
  object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

const rollingDeployment: Defaults = { set: { maxUnavailable: '25%', maxSurge: '25%' } };

function defaultDeployment(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, deployment);
  defaultRolling(made(spec, 'strategy'), rollingDeployment);
  defaultTemplate(spec);
}

const templateGeneration = 'deprecated.daemonset.template.generation';
const rollingDaemonSet: Defaults = { set: { maxUnavailable: 1, maxSurge: 0 } };

function defaultDaemonSet(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { revisionHistoryLimit: 10 } });
  defaultRolling(made(spec, 'updateStrategy'), rollingDaemonSet);
  // Only its presence matters here, so that the client becomes the annotation's field manager.
  object.metadata.annotations = { [templateGeneration]: '0', ...object.metadata.annotations };
  defaultTemplate(spec);
}

function defaultReplicaSet(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { replicas: 1 } });
  defaultTemplate(spec);
}

const claimTemplate: Defaults = {
  set: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: {}, status: { phase: 'Pending' } },
  within: { spec: claimSpec, status: { set: { phase: 'Pending' } } },
};

const statefulSet: Defaults = {
  set: { podManagementPolicy: 'OrderedReady', replicas: 1, revisionHistoryLimit: 10, persistentVolumeClaimRetentionPolicy: {} },
  within: { persistentVolumeClaimRetentionPolicy: { set: { whenDeleted: 'Retain', whenScaled: 'Retain' } } },
  each: { volumeClaimTemplates: claimTemplate },
};

function defaultStatefulSet(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, statefulSet);
  const update = made(spec, 'updateStrategy');
  if (textOf(update['type']) === '') {
    update['type'] = 'RollingUpdate';
    made(update, 'rollingUpdate');
  }
  const rolling = maybeFields(update['rollingUpdate']);
  if (update['type'] === 'RollingUpdate' && rolling !== undefined) applyDefaults(rolling, { set: { partition: 0 } });
  defaultTemplate(spec);
}

/** Without a selector or labels, a replication controller takes those of its pod template. */
function defaultReplicationController(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { replicas: 1 } });
  if (maybeFields(spec['template']) === undefined) return;
  const labels = stringMapOf(made(defaultTemplate(spec), 'metadata')['labels']);
  if (Object.keys(labels).length === 0) return;
  if (Object.keys(fieldsOf(spec['selector'])).length === 0) spec['selector'] = { ...labels };
  defaultLabels(object);
}

function defaultLabels(object: KubeObject): void {
  if (Object.keys(object.metadata.labels ?? {}).length > 0) return;
  const template = fieldsOf(fieldsOf(object['spec'])['template']);
  const labels = stringMapOf(fieldsOf(template['metadata'])['labels']);
  if (Object.keys(labels).length > 0) object.metadata.labels = { ...labels };
}

const replicasSelectable: Pick<Strategy, 'selectableFields' | 'selectableLabels'> = {
  selectableLabels: ['status.replicas'],
  selectableFields: (object) => ({ 'status.replicas': String(numberOf(fieldsOf(object['status'])['replicas'])) }),
};

/** Counts changes of a daemon set's template in an annotation, for clients that still read it. */
const daemonSet: Pick<Strategy, 'prepareForCreate' | 'prepareForUpdate'> = {
  prepareForCreate: (object) => countTemplate(object, Math.max(templatesBefore(object) || 1, 1)),
  prepareForUpdate: (object, old) => {
    const isSame = sameJson(fieldsOf(object['spec'])['template'], fieldsOf(old['spec'])['template']);
    const before = templatesBefore(old);
    countTemplate(object, isSame ? before : before + 1);
  },
};

function templatesBefore({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[templateGeneration] ?? 0);
}

function countTemplate({ metadata }: KubeObject, count: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGeneration]: String(count) };
}

const replicaCounts: Strategy['status'] & object = {
  validate: validateCounts({
    fields: ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
    partsOfReplicas: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    ready: 'readyReplicas',
  }),
};

/** The initial status of kinds that always report a replica count. */
const noReplicas = () => ({ replicas: 0 });

const makersOfPods: readonly (readonly [resource: string, strategy: Strategy])[] = [
  [
    'apps/deployments',
    separateStatus({
      default: defaultDeployment,
      prepareForUpdate: countAnnotations,
      validate: validateDeployment,
      validateUpdate: validateSelectorUpdate,
      generation: true,
      defaultPropagation: 'Background',
      resetFields: { status: [['spec'], ['metadata', 'labels']] },
      status: {
        validate: validateCounts({
          fields: [
            'observedGeneration',
            'replicas',
            'updatedReplicas',
            'readyReplicas',
            'availableReplicas',
            'unavailableReplicas',
            'collisionCount',
          ],
          partsOfReplicas: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
          ready: 'readyReplicas',
        }),
        validateUpdate: validateCollisions,
        prepareForUpdate: (object, old) => {
          if (old.metadata.labels === undefined) delete object.metadata.labels;
          else object.metadata.labels = old.metadata.labels;
        },
      },
    }),
  ],
  [
    'apps/replicasets',
    separateStatus(
      {
        default: defaultReplicaSet,
        validate: validateReplicaSet,
        validateUpdate: validateSelectorUpdate,
        generation: true,
        defaultPropagation: 'Background',
        status: replicaCounts,
      },
      noReplicas,
    ),
  ],
  [
    'apps/statefulsets',
    separateStatus(
      {
        validateName: names.dns1123Label,
        default: defaultStatefulSet,
        validate: validateStatefulSet,
        validateUpdate: validateStatefulSetUpdate,
        generation: true,
        defaultPropagation: 'Background',
        status: {
          validate: validateCounts({
            fields: [
              'replicas',
              'readyReplicas',
              'currentReplicas',
              'updatedReplicas',
              'availableReplicas',
              'observedGeneration',
              'collisionCount',
            ],
            partsOfReplicas: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
            ready: 'status.readyReplicas',
          }),
          validateUpdate: validateCollisions,
        },
      },
      () => ({ replicas: 0, availableReplicas: 0 }),
    ),
  ],
  [
    'apps/daemonsets',
    separateStatus(
      {
        ...daemonSet,
        default: defaultDaemonSet,
        validate: validateDaemonSet,
        validateUpdate: validateSelectorUpdate,
        generation: true,
        defaultPropagation: 'Background',
        status: {
          prepareForUpdate: (object, old) => countTemplate(object, templatesBefore(old)),
          validate: validateCounts({
            fields: [
              'currentNumberScheduled',
              'numberMisscheduled',
              'desiredNumberScheduled',
              'numberReady',
              'observedGeneration',
              'updatedNumberScheduled',
              'numberAvailable',
              'numberUnavailable',
              'collisionCount',
            ],
          }),
          validateUpdate: validateCollisions,
        },
      },
      () => ({
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
      }),
    ),
  ],
  [
    '/replicationcontrollers',
    separateStatus(
      {
        default: defaultReplicationController,
        validate: validateReplicationController,
        generation: true,
        defaultPropagation: 'Orphan',
        ...replicasSelectable,
        // A status may be sent without a spec, and so without the labels to default from.
        status: { ...replicaCounts, prepareForUpdate: defaultLabels },
      },
      noReplicas,
    ),
  ],
];

export const appsStrategies = new Map<string, Strategy>([
  ...makersOfPods.map(([resource, strategy]) => [resource, withTemplateWarnings(strategy)] as const),
  [
    'apps/controllerrevisions',
    { validate: validateRevision, validateCreate: validateRevisionData, validateUpdate: validateRevisionUpdate },
  ],
]);

import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, isAbsent, numberOf, stringMapOf } from '@capstan/machinery';
import { defaultTemplate } from '../pods/pod-defaults.ts';
import { withTemplateWarnings } from '../pods/warnings.ts';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { separateStatus } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { validateCronJob, validateJob, validateJobUpdate } from './batch-validation.ts';
import { validateJobStatus } from './job-status.ts';

const mostRetries = 2 ** 31 - 1;

function defaultJob(object: KubeObject): void {
  const spec = made(object, 'spec');
  if (isAbsent(spec['completions']) && isAbsent(spec['parallelism'])) spec['completions'] = 1;
  applyDefaults(spec, {
    setOptional: {
      parallelism: 1,
      backoffLimit: isAbsent(spec['backoffLimitPerIndex']) ? 6 : mostRetries,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: isAbsent(spec['podFailurePolicy']) ? 'TerminatingOrFailed' : 'Failed',
      manualSelector: false,
    },
  });
  defaultJobSpec(spec);
  const labels = stringMapOf(fieldsOf(fieldsOf(spec['template'])['metadata'])['labels']);
  if (Object.keys(labels).length === 0 || Object.keys(object.metadata.labels ?? {}).length > 0) return;
  object.metadata.labels = { ...labels };
  inherited.add(object.metadata.labels);
}

/** Labels that were copied from a job's pod template. */
const inherited = new WeakSet<object>();

/** Defaults for jobs and job templates. */
function defaultJobSpec(spec: Fields): void {
  defaultTemplate(spec);
  applyDefaults(spec, {
    within: { podFailurePolicy: { each: { rules: { each: { onPodConditions: { set: { status: 'True' } } } } } } },
  });
}

function defaultCronJob(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { concurrencyPolicy: 'Allow', suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 } });
  const template = made(spec, 'jobTemplate');
  made(template, 'metadata');
  defaultJobSpec(made(template, 'spec'));
}

/** Generates a selector by the job's uid unless the client sets one. A job that inherited its pods' labels gets the generated ones too. */
function selectPods(job: KubeObject): void {
  const spec = made(job, 'spec');
  if (spec['manualSelector'] === true) return;
  const metadata = made(made(spec, 'template'), 'metadata');
  const labels = made(metadata, 'labels') as Record<string, string>;
  for (const key of ['job-name', 'batch.kubernetes.io/job-name']) labels[key] ??= job.metadata.name ?? '';
  for (const key of ['controller-uid', 'batch.kubernetes.io/controller-uid']) labels[key] ??= job.metadata.uid ?? '';
  const matched = made(made(spec, 'selector'), 'matchLabels');
  matched['batch.kubernetes.io/controller-uid'] ??= job.metadata.uid;
  if (job.metadata.labels === undefined || inherited.has(job.metadata.labels)) job.metadata.labels = { ...labels };
}

export const batchStrategies = new Map<string, Strategy>([
  [
    'batch/jobs',
    withTemplateWarnings(
      separateStatus({
        default: defaultJob,
        validate: validateJob,
        validateUpdate: validateJobUpdate,
        prepareForCreate: selectPods,
        generation: true,
        defaultPropagation: 'Orphan',
        deletionWarning:
          'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
        selectableLabels: ['status.successful'],
        selectableFields: (job) => ({ 'status.successful': String(numberOf(fieldsOf(job['status'])['succeeded'])) }),
        status: { validateUpdate: validateJobStatus },
      }),
    ),
  ],
  [
    'batch/cronjobs',
    withTemplateWarnings(
      separateStatus({ default: defaultCronJob, validate: validateCronJob, generation: true, defaultPropagation: 'Background' }),
      ['spec', 'jobTemplate', 'spec', 'template'],
    ),
  ],
]);

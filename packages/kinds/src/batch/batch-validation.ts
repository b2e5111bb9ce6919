import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  type LabelSelectorObject,
  maybeFields,
  names,
  numberOf,
  sameJson,
  selectorOfObject,
  stringMapOf,
  textOf,
  validateLabelSelector,
} from '@capstan/machinery';
import { domainPathProblems } from '../networking/domain-path.ts';
import { checkTemplate } from '../pods/pod-validation.ts';
import { Findings } from '../shared/findings.ts';
import { goForm, goPodTemplate } from '../shared/go-form.ts';
import { repeats } from '../shared/repeats.ts';
import { scheduleProblem } from './cron.ts';
import { checkSuccessPolicy } from './success-policy.ts';

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
];
const mostIndexedPods = 100_000;
const longestCronName = 52;

function checkIndexed(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  if (isAbsent(spec['completions'])) found.required(at.child('completions'), 'when completion mode is Indexed');
  for (const [field, rule] of [
    ['parallelism', `must be less than or equal to ${mostIndexedPods} when completion mode is Indexed`],
    ['maxFailedIndexes', `must be less than or equal to ${mostIndexedPods}`],
  ] as const) {
    if (numberOf(spec[field]) > mostIndexedPods) found.invalid(at.child(field), spec[field], rule);
  }
  if (
    !isAbsent(spec['completions']) &&
    !isAbsent(spec['maxFailedIndexes']) &&
    numberOf(spec['maxFailedIndexes']) > numberOf(spec['completions'])
  ) {
    found.invalid(at.child('maxFailedIndexes'), spec['maxFailedIndexes'], 'must be less than or equal to completions');
  }
}

function checkFailureRule(found: Findings, at: FieldPath, { rule, spec }: { rule: Fields; spec: Readonly<Fields> }): void {
  const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
  const action = textOf(rule['action']);
  if (action === '') found.required(at.child('action'), `valid values: [${actions.map((word) => `"${word}"`).join(' ')}]`);
  else if (!actions.includes(action)) found.notSupported(at.child('action'), action, actions);
  else if (action === 'FailIndex' && isAbsent(spec['backoffLimitPerIndex'])) {
    found.invalid(at.child('action'), action, 'requires the backoffLimitPerIndex to be set');
  }
  const codes = maybeFields(rule['onExitCodes']);
  const hasConditions = itemsOf(rule['onPodConditions']).length > 0;
  if (codes !== undefined && hasConditions) found.invalidPart(at, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (codes === undefined && !hasConditions) found.invalidPart(at, 'specifying one of OnExitCodes and OnPodConditions is required');
  if (codes !== undefined) checkExitCodes(found, at.child('onExitCodes'), { codes, spec });
  for (const [index, pattern] of itemsOf(rule['onPodConditions']).entries()) {
    const path = at.child('onPodConditions').index(index);
    found.invalid(path.child('type'), textOf(pattern['type']), names.qualifiedName(textOf(pattern['type'])));
    found.optionalOneOf(path.child('status'), pattern['status'], ['False', 'True', 'Unknown']);
  }
}

function checkExitCodes(found: Findings, at: FieldPath, { codes, spec }: { codes: Fields; spec: Readonly<Fields> }): void {
  const values = Array.isArray(codes['values']) ? (codes['values'] as number[]) : [];
  if (textOf(codes['operator']) === '') found.required(at.child('operator'), 'valid values: ["In" "NotIn"]');
  else found.oneOf(at.child('operator'), codes['operator'], ['In', 'NotIn']);
  const pod = fieldsOf(fieldsOf(spec['template'])['spec']);
  const known = [...itemsOf(pod['containers']), ...itemsOf(pod['initContainers'])].map((container) => container['name']);
  if (!isAbsent(codes['containerName']) && !known.includes(codes['containerName'])) {
    found.invalid(
      at.child('containerName'),
      codes['containerName'],
      'must be one of the container or initContainer names in the pod template',
    );
  }
  if (values.length === 0) found.invalid(at.child('values'), codes['values'], 'at least one value is required');
  const isRepeated = repeats<number>();
  for (const [index, value] of values.entries()) {
    const path = at.child('values').index(index);
    if (codes['operator'] === 'In' && value === 0) found.invalid(path, value, 'must not be 0 for the In operator');
    if (isRepeated(value)) found.duplicate(path, value);
  }
  if (values.some((value, index) => index > 0 && values[index - 1]! > value)) found.invalid(at.child('values'), values, 'must be ordered');
}

function checkRestartPolicy(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  const policy = textOf(fieldsOf(fieldsOf(spec['template'])['spec'])['restartPolicy']);
  const path = at.child('template', 'spec', 'restartPolicy');
  if (policy === 'Always' || policy === '') found.required(path, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') found.notSupported(path, policy, ['OnFailure', 'Never']);
  else if (!isAbsent(spec['podFailurePolicy']) && policy !== 'Never') {
    found.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified');
  }
}

/** Validates which controller manages the job. */
function checkManager(found: Findings, at: FieldPath, name: string): void {
  if (name === '') found.required(at);
  else found.invalid(at, name, domainPathProblems(name));
}

/** Pods of an indexed job are named after the job and their index; the longest name must be a valid host name. */
function checkPodNames(found: Findings, job: KubeObject): void {
  const { completionMode, completions } = fieldsOf(job['spec']);
  if (completionMode !== 'Indexed' || numberOf(completions) <= 0) return;
  const name = job.metadata.name ?? '';
  const longest = `${name}-${numberOf(completions) - 1}`;
  if (names.dns1123Label(longest).length > 0)
    found.invalid(FieldPath.of('metadata', 'name'), name, `will not able to create pod with invalid DNS label: ${longest}`);
}

function checkJobSpec(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  if (!isAbsent(spec['managedBy'])) checkManager(found, at.child('managedBy'), textOf(spec['managedBy']));
  for (const field of counts) found.nonNegative(at.child(field), spec[field]);
  if (!isAbsent(spec['maxFailedIndexes']) && isAbsent(spec['backoffLimitPerIndex'])) {
    found.required(at.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified');
  }
  const mode = spec['completionMode'];
  found.optionalOneOf(at.child('completionMode'), mode, ['NonIndexed', 'Indexed']);
  if (mode === 'Indexed') checkIndexed(found, at, spec);
  if (isAbsent(mode) || mode === 'NonIndexed') {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes']) {
      if (!isAbsent(spec[field])) found.invalid(at.child(field), spec[field], 'requires indexed completion mode');
    }
  }
  const policy = maybeFields(spec['podFailurePolicy']);
  for (const [index, rule] of itemsOf(policy?.['rules']).entries()) {
    checkFailureRule(found, at.child('podFailurePolicy', 'rules').index(index), { rule, spec });
  }
  const success = maybeFields(spec['successPolicy']);
  if (success !== undefined) checkSuccessPolicy(found, at.child('successPolicy'), { policy: success, spec });
  const replacements = policy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  found.optionalOneOf(at.child('podReplacementPolicy'), spec['podReplacementPolicy'], replacements);
  checkTemplate(found, at.child('template'), fieldsOf(spec['template']));
  checkRestartPolicy(found, at, spec);
}

/** A generated selector must not be modified. */
function checkGeneratedSelector(found: Findings, job: KubeObject): void {
  const spec = fieldsOf(job['spec']);
  if (spec['manualSelector'] === true || isAbsent(spec['selector'])) return;
  const labels = stringMapOf(fieldsOf(fieldsOf(spec['template'])['metadata'])['labels']);
  const at = FieldPath.of('spec', 'template', 'metadata', 'labels');
  const expected: Record<string, string> = {};
  for (const prefix of ['', 'batch.kubernetes.io/']) {
    expected[`${prefix}controller-uid`] = job.metadata.uid ?? '';
    expected[`${prefix}job-name`] = job.metadata.name ?? '';
  }
  for (const [key, value] of Object.entries(expected)) {
    if (!Object.hasOwn(labels, key)) found.required(at.key(key), `must be '${value}'`);
    else if (labels[key] !== value) found.invalid(at.key(key), labels, `must be '${value}'`);
  }
  const path = FieldPath.of('spec', 'selector');
  const selector = spec['selector'] as LabelSelectorObject;
  if (validateLabelSelector(selector, path).length === 0 && !selectorOfObject(selector).matches(expected))
    found.invalid(path, selector, '`selector` not auto-generated');
}

export function validateJob(job: KubeObject): FieldError[] {
  const found = new Findings();
  checkGeneratedSelector(found, job);
  checkSelectingSpec(found, fieldsOf(job['spec']));
  checkPodNames(found, job);
  return found.errors;
}

/** Validates a job's spec, including its selector. */
function checkSelectingSpec(found: Findings, spec: Readonly<Fields>): void {
  const at = FieldPath.of('spec');
  checkJobSpec(found, at, spec);
  const selector = maybeFields(spec['selector']);
  if (selector === undefined) found.required(at.child('selector'));
  const problems = validateLabelSelector(selector, at.child('selector'));
  found.add(problems);
  const { labels } = fieldsOf(fieldsOf(spec['template'])['metadata']);
  if (problems.length === 0 && !selectorOfObject(selector as LabelSelectorObject | undefined).matches(stringMapOf(labels))) {
    found.invalid(at.child('template', 'metadata', 'labels'), labels, '`selector` does not match template `labels`');
  }
}

/** While a job is suspended and has not started, the scheduling fields of its template may change. */
function fixedTemplate(spec: Readonly<Fields>, isOpen: boolean): unknown {
  const template = fieldsOf(spec['template']);
  if (!isOpen) return template;
  const { affinity: _, nodeSelector: _n, tolerations: _t, schedulingGates: _g, ...pod } = fieldsOf(template['spec']);
  const { labels: _l, annotations: _a, ...metadata } = fieldsOf(template['metadata']);
  return { ...template, metadata, spec: pod };
}

const structures: Readonly<Record<string, string>> = { podFailurePolicy: 'PodFailurePolicy', successPolicy: 'SuccessPolicy' };

export function validateJobUpdate(job: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(job['spec']), fieldsOf(old['spec'])];
  const at = FieldPath.of('spec');
  // On update Kubernetes validates everything again except the generated selector.
  checkSelectingSpec(found, spec);
  const { completions } = spec;
  if (spec['completionMode'] !== 'Indexed') found.immutable(at.child('completions'), completions, completions === before['completions']);
  else if (!isAbsent(completions) && completions !== before['completions'] && completions !== spec['parallelism']) {
    found.invalid(at.child('completions'), completions, 'can only be modified in tandem with spec.parallelism');
  }
  found.immutable(at.child('selector'), spec['selector'], sameJson(spec['selector'], before['selector']));
  const isOpen = before['suspend'] === true && isAbsent(fieldsOf(old['status'])['startTime']);
  const [template, oldTemplate] = [fixedTemplate(spec, isOpen), fixedTemplate(before, isOpen)];
  if (!sameJson(template, oldTemplate))
    found.invalid(at.child('template'), goPodTemplate(fieldsOf(spec['template'])), 'field is immutable');
  for (const field of ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy']) {
    const policy = structures[field];
    const shown = policy === undefined || isAbsent(spec[field]) ? spec[field] : goForm(policy, fieldsOf(spec[field]));
    found.immutable(at.child(field), shown, sameJson(spec[field], before[field]));
  }
  return found.errors;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return !/^[+-]/.test(name);
  } catch {
    return false;
  }
}

export function validateCronJob(cronJob: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(cronJob['spec']);
  const at = FieldPath.of('spec');
  const schedule = textOf(spec['schedule']);
  const problem = schedule === '' ? undefined : scheduleProblem(schedule.replace(/^(CRON_)?TZ=\S+\s+/, ''));
  if (schedule === '') found.required(at.child('schedule'));
  if (problem !== undefined) found.invalid(at.child('schedule'), schedule, problem);
  if (schedule.includes('TZ')) {
    found.invalid(at.child('schedule'), schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  }
  found.nonNegative(at.child('startingDeadlineSeconds'), spec['startingDeadlineSeconds']);
  const zone = spec['timeZone'];
  if (zone === '') found.invalid(at.child('timeZone'), zone, 'timeZone must be nil or non-empty string');
  else if (typeof zone === 'string' && !isTimeZone(zone)) found.invalid(at.child('timeZone'), zone, `unknown time zone ${zone}`);
  found.oneOf(at.child('concurrencyPolicy'), spec['concurrencyPolicy'], ['Allow', 'Forbid', 'Replace']);
  const job = fieldsOf(fieldsOf(spec['jobTemplate'])['spec']);
  const path = at.child('jobTemplate', 'spec');
  checkJobSpec(found, path, job);
  if (!isAbsent(job['selector'])) found.invalid(path.child('selector'), job['selector'], '`selector` will be auto-generated');
  if (job['manualSelector'] === true) found.notSupported(path.child('manualSelector'), true, ['nil', 'false']);
  for (const field of ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit']) found.nonNegative(at.child(field), spec[field]);
  const { name = '' } = cronJob.metadata;
  if (name.length > longestCronName) {
    found.invalid(FieldPath.of('metadata', 'name'), name, `must be no more than ${longestCronName} characters`);
  }
  return found.errors;
}

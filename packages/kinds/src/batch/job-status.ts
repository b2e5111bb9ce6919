import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  numberOf,
  sameJson,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { validateCounts } from '../shared/status-counts.ts';
import { commonIndex, countIndexes } from './job-indexes.ts';

const at = FieldPath.of('status');
const counts = validateCounts({ fields: ['active', 'succeeded', 'failed', 'ready', 'terminating'] });

interface Job {
  readonly spec: Readonly<Fields>;
  readonly status: Readonly<Fields>;
  readonly isTrue: (condition: string) => boolean;
  readonly isFinished: boolean;
}

function jobOf(object: KubeObject): Job {
  const status = fieldsOf(object['status']);
  const conditions = new Set(itemsOf(status['conditions']).flatMap(({ type, status }) => (status === 'True' ? [textOf(type)] : [])));
  return {
    spec: fieldsOf(object['spec']),
    status,
    isTrue: (condition) => conditions.has(condition),
    isFinished: conditions.has('Complete') || conditions.has('Failed'),
  };
}

/** Validates status reports, since jobs may be run by controllers other than Kubernetes' own. Only changes are checked. */
export function validateJobStatus(object: KubeObject, before: KubeObject): FieldError[] {
  const found = new Findings();
  found.add(counts(object));
  checkUncounted(found, fieldsOf(object['status']));
  const [job, old] = [jobOf(object), jobOf(before)];
  checkConditions(found, job, old);
  checkTimes(found, job, old);
  checkPods(found, job, old);
  checkIndexes(found, job, old);
  checkSteps(found, job, old);
  return found.errors;
}

function checkUncounted(found: Findings, { uncountedTerminatedPods }: Readonly<Fields>): void {
  const seen = new Set<string>();
  for (const field of ['succeeded', 'failed']) {
    for (const [index, uid] of textsOf(fieldsOf(uncountedTerminatedPods)[field]).entries()) {
      const path = at.child('uncountedTerminatedPods', field).index(index);
      if (uid === '') found.invalid(path, uid, 'must not be empty');
      else if (seen.has(uid)) found.duplicate(path, uid);
      seen.add(uid);
    }
  }
}

const differs = (field: string, job: Job, old: Job): boolean => !sameJson(job.status[field] ?? null, old.status[field] ?? null);
const turned = (condition: string, job: Job, old: Job): boolean => job.isTrue(condition) !== old.isTrue(condition);

function checkConditions(found: Findings, job: Job, old: Job): void {
  const path = at.child('conditions');
  const wrong = (why: string): void => found.invalidPart(path, why);
  const completed = turned('Complete', job, old);
  if ((completed || turned('Failed', job, old)) && job.isTrue('Complete') && job.isTrue('Failed'))
    wrong('cannot set Complete=True and Failed=true conditions');
  if ((completed || turned('FailureTarget', job, old)) && job.isTrue('Complete') && job.isTrue('FailureTarget'))
    wrong('cannot set Complete=True and FailureTarget=true conditions');
  if ((turned('Failed', job, old) || differs('failedIndexes', job, old)) && job.isTrue('Failed') && !job.isTrue('FailureTarget'))
    wrong('cannot set Failed=True condition without the FailureTarget=true condition');
  if ((completed || turned('SuccessCriteriaMet', job, old)) && job.isTrue('Complete') && !job.isTrue('SuccessCriteriaMet'))
    wrong('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
}

function checkTimes(found: Findings, job: Job, old: Job): void {
  const { startTime, completionTime } = job.status;
  const path = at.child('completionTime');
  const ended = turned('Complete', job, old) || differs('completionTime', job, old);
  if (ended && !isAbsent(completionTime) && !job.isTrue('Complete'))
    found.invalid(path, completionTime, 'cannot set completionTime when there is no Complete=True condition');
  if (ended && isAbsent(completionTime) && job.isTrue('Complete')) found.required(path, 'completionTime is required for Complete jobs');
  const moved = differs('startTime', job, old) || differs('completionTime', job, old);
  if (moved && !isAbsent(startTime) && !isAbsent(completionTime) && Date.parse(textOf(completionTime)) < Date.parse(textOf(startTime)))
    found.invalid(path, completionTime, 'must be equal to or after `startTime`');
}

function checkPods(found: Findings, job: Job, old: Job): void {
  const { spec, status, isFinished } = job;
  const finished = isFinished !== old.isFinished;
  if ((finished || differs('active', job, old)) && numberOf(status['active']) > 0 && isFinished)
    found.invalid(at.child('active'), status['active'], 'active>0 is invalid for finished job');
  const needsNoStart = spec['suspend'] === true && spec['completions'] === 0;
  if ((finished || differs('startTime', job, old)) && !needsNoStart && isAbsent(status['startTime']) && isFinished)
    found.required(at.child('startTime'), 'startTime is required for finished job');
  const uncounted = fieldsOf(status['uncountedTerminatedPods']);
  const left = textsOf(uncounted['succeeded']).length + textsOf(uncounted['failed']).length;
  if ((finished || differs('uncountedTerminatedPods', job, old)) && isFinished && left > 0) {
    const shown = { Succeeded: uncounted['succeeded'] ?? null, Failed: uncounted['failed'] ?? null };
    found.invalid(at.child('uncountedTerminatedPods'), shown, 'must be empty for finished job');
  }
}

function checkIndexTexts(found: Findings, job: Job, old: Job): void {
  const { spec, status } = job;
  const completed = textOf(status['completedIndexes']);
  const failed = status['failedIndexes'];
  const [moreCompleted, moreFailed] = [completed !== textOf(old.status['completedIndexes']), differs('failedIndexes', job, old)];
  const [completedPath, failedPath] = [at.child('completedIndexes'), at.child('failedIndexes')];
  const completions = isAbsent(spec['completions']) ? undefined : numberOf(spec['completions']);
  const problem = (text: string): string | undefined => {
    const counted = completions === undefined ? 0 : countIndexes(text, completions);
    return typeof counted === 'string' ? counted : undefined;
  };
  const inCompleted = moreCompleted ? problem(completed) : undefined;
  if (inCompleted !== undefined) found.invalid(completedPath, completed, `error parsing completedIndexes: ${inCompleted}`);
  const inFailed = moreFailed && !isAbsent(spec['backoffLimitPerIndex']) ? problem(textOf(failed)) : undefined;
  if (inFailed !== undefined) found.invalid(failedPath, failed, `error parsing failedIndexes: ${inFailed}`);
  if (moreCompleted && completed !== '' && spec['completionMode'] !== 'Indexed')
    found.invalid(completedPath, completed, 'cannot set non-empty completedIndexes when non-indexed completion mode');
  if (moreFailed && isAbsent(spec['backoffLimitPerIndex']) && !isAbsent(failed))
    found.invalid(failedPath, failed, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  const common = completions === undefined || isAbsent(failed) ? undefined : commonIndex(completed, textOf(failed), completions);
  if ((moreCompleted || moreFailed) && common !== undefined)
    found.invalid(failedPath, failed, `failedIndexes and completedIndexes overlap at index: ${common}`);
}

function checkIndexes(found: Findings, job: Job, old: Job): void {
  const { spec, status, isFinished } = job;
  checkIndexTexts(found, job, old);
  const finished = isFinished !== old.isFinished;
  if ((finished || differs('terminating', job, old)) && numberOf(status['terminating']) > 0 && isFinished)
    found.invalid(at.child('terminating'), status['terminating'], 'terminating>0 is invalid for finished job');
  if ((differs('ready', job, old) || differs('active', job, old)) && numberOf(status['ready']) > numberOf(status['active']))
    found.invalid(at.child('ready'), status['ready'], 'cannot set more ready pods than active');
  const wrong = (why: string): void => found.invalidPart(at.child('conditions'), why);
  const succeeds = job.isTrue('SuccessCriteriaMet');
  if (succeeds && job.isTrue('Failed')) wrong('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (succeeds && job.isTrue('FailureTarget')) wrong('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (!isAbsent(spec['successPolicy']) && !succeeds && job.isTrue('Complete'))
    wrong('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
}

/** Rejects invalid transitions, such as removing a terminal condition. */
function checkSteps(found: Findings, job: Job, old: Job): void {
  const wrong = (why: string): void => found.invalidPart(at.child('conditions'), why);
  for (const condition of ['Failed', 'Complete', 'FailureTarget'])
    if (old.isTrue(condition) && !job.isTrue(condition)) wrong(`cannot disable the terminal ${condition}=True condition`);
  const fewer = (field: string): boolean => numberOf(job.status[field]) < numberOf(old.status[field]);
  if (fewer('failed')) found.invalid(at.child('failed'), numberOf(job.status['failed']), 'cannot decrease the failed counter');
  const { completionMode, completions, parallelism } = job.spec;
  const isScalable = completionMode === 'Indexed' && completions === parallelism;
  if (!isScalable && fewer('succeeded'))
    found.invalid(at.child('succeeded'), numberOf(job.status['succeeded']), 'cannot decrease the succeeded counter');
  const { startTime, completionTime } = job.status;
  if (!isAbsent(completionTime) && !isAbsent(old.status['completionTime']) && differs('completionTime', job, old))
    found.invalid(at.child('completionTime'), completionTime, 'field is immutable');
  if (!isAbsent(old.status['startTime']) && startTime !== old.status['startTime'] && job.spec['suspend'] !== true)
    found.required(at.child('startTime'), 'startTime cannot be removed for unsuspended job');
  if (old.isTrue('SuccessCriteriaMet') && !job.isTrue('SuccessCriteriaMet')) wrong('cannot disable the SuccessCriteriaMet=True condition');
  if (old.isTrue('Complete') && !old.isTrue('SuccessCriteriaMet') && job.isTrue('SuccessCriteriaMet'))
    wrong('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
}

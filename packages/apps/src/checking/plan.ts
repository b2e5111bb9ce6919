import { type App, taskFields, taskTypes } from '@capstan/api';
import { compileSchema, copyJson, type JsonObject } from '@capstan/machinery';
import { mostSteps, type Plan, type PlannedStep } from '../adapter/contract.ts';
import { reportTokenSecret } from '../keeping/report-account.ts';
import { forbiddance, type PermittedScripts } from './permissions.ts';
import { mentionsIn } from './placeholders.ts';
import { type Checked, ok, refuse } from './problem.ts';

export interface PlanPlace {
  readonly app: App;
  /** Names of all members of the instance. */
  readonly members: ReadonlySet<string>;
  /** Names of the secrets and facts that exist. */
  readonly secrets: ReadonlySet<string>;
  readonly facts: ReadonlySet<string>;
  readonly scripts: PermittedScripts;
  /** SHA-256 of the artifacts of the version. */
  readonly artifacts: ReadonlySet<string>;
}

const mostSecrets = 64;

/** The plan with the defaults of its tasks and the hashes of its scripts, if all of it may be done. Nothing is begun before the whole plan has passed. */
export function checkPlan(plan: Plan, place: PlanPlace): Checked<Plan> {
  const wrong = (message: string): Checked<never> => refuse('PlanRefused', message, { userFixable: false });
  if (plan.steps.length > mostSteps) return wrong(`the plan has ${plan.steps.length} steps, and at most ${mostSteps} are possible`);
  const { secrets: wanted = [] } = plan;
  if (wanted.length > mostSecrets) return wrong(`the plan has ${wanted.length} secrets, and at most ${mostSecrets} are possible`);
  for (const name of [...(plan.joins ?? []), ...(plan.leaves ?? [])])
    if (!place.members.has(name)) return wrong(`the plan names ${name}, which is no member of the instance`);
  if ([...wanted.map(({ name }) => name), ...plan.steps.map(({ keepsSecret }) => keepsSecret)].includes(reportTokenSecret))
    return wrong(`the secret ${reportTokenSecret} is that of the platform; give yours another name`);
  const stages = [...new Set(plan.steps.map(({ stage }) => stage))].sort((one, other) => one - other);
  const secrets = new Set([...place.secrets, ...wanted.map(({ name }) => name), reportTokenSecret]);
  const facts = new Set(place.facts);
  const ids = new Set<string>();
  const steps: PlannedStep[] = [];
  for (const stage of stages) {
    const together = plan.steps.filter((step) => step.stage === stage);
    for (const step of together) {
      if (ids.has(step.id)) return wrong(`two steps of the plan have the id ${step.id}`);
      ids.add(step.id);
      const checked = checkStep(step, { ...place, secrets, facts });
      if (typeof checked === 'string') return wrong(`the step ${step.id} is refused: ${checked}`);
      steps.push(checked);
    }
    for (const { keepsFact, keepsSecret } of together) {
      if (keepsFact !== undefined) facts.add(keepsFact);
      if (keepsSecret !== undefined) secrets.add(keepsSecret);
    }
  }
  return ok({ ...plan, steps });
}

/** The step with all defaults, or why it is refused. */
function checkStep(step: PlannedStep, place: PlanPlace): PlannedStep | string {
  const { members, scripts } = place;
  if (!members.has(step.member)) return `${step.member} is no member of the instance`;
  if (!Object.hasOwn(taskTypes, step.type)) return `there is no type of tasks ${step.type}`;
  const task = copyJson(step.task as unknown as JsonObject) as JsonObject;
  const schema = compileSchema(taskFields[taskTypes[step.type]].json);
  schema.applyDefaults(task);
  const unknown = schema.prune(copyJson(task) as JsonObject).map((name) => `${name}: is unknown`);
  const faults = [...schema.validate(task).map(({ field, body }) => `${field}: ${body}`), ...unknown];
  if (faults.length > 0) return faults.slice(0, 4).join('; ');
  const whole = { ...step, task } as unknown as PlannedStep;
  const fault = mentionFault(task, place) ?? artifactFault(whole, place) ?? forbiddance(whole, place.app.spec.permitted ?? {}, scripts);
  if (fault !== undefined) return fault;
  const hash = typeof task['script'] === 'string' ? scripts.hashOf(task['script']) : undefined;
  if (hash !== undefined) task['sha256'] = hash;
  return whole;
}

function mentionFault(task: JsonObject, { secrets, facts }: PlanPlace): string | undefined {
  const mentions = mentionsIn(task);
  if (mentions.malformed) return 'it has a placeholder that cannot be read; write $${ for ${';
  const secret = [...mentions.secrets].find((name) => !secrets.has(name));
  if (secret !== undefined) return `nothing before it makes the secret ${secret}`;
  const fact = [...mentions.facts].find((name) => !facts.has(name));
  return fact === undefined ? undefined : `nothing before it keeps the fact ${fact}`;
}

function artifactFault({ type, task }: PlannedStep, { artifacts }: PlanPlace): string | undefined {
  if (type !== 'artifact.fetch') return undefined;
  return artifacts.has(task.sha256) ? undefined : `no artifact of the version has the SHA-256 ${task.sha256}`;
}

import { appHealths, type Schema, schema } from '@capstan/api';
import { compileSchema, type JsonObject } from '@capstan/machinery';
import { type AccessAnswer, AdapterProblem, type MembersAnswer, mostSteps, type Observation, type Plan } from './contract.ts';

const { anything, choice, flag, integer, list, map, object, optional, text } = schema;

/** The forms of an adapter's answers. Text has the limits of the fields of our objects that it ends up in. */

const name = text('Name.', { minLength: 1, maxLength: 253 });
const key = text('Name of a secret or a fact.', { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' });
const phase = text('Phase.', { maxLength: 128 });
const code = text('Code.', { maxLength: 64, pattern: '^[A-Z][A-Za-z0-9]*$' });
const duration = text('Duration.', { maxLength: 64, pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$' });
const health = choice('Health.', [...appHealths]);

const members = object('The members.', {
  members: list('Members.', object('A member.', { component: name, allocation: name }), { maxItems: 1024 }),
  probes: optional(
    map(
      'Probes.',
      object('A probe.', {
        script: name,
        arguments: optional(list('Arguments.', text('Argument.', { maxLength: 4096 }), { maxItems: 64 })),
        every: duration,
      }),
      { maxProperties: 16 },
    ),
  ),
});

const step = object('A step.', {
  id: text('Id.', { minLength: 1, maxLength: 128, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
  title: text('Title.', { minLength: 1, maxLength: 256 }),
  member: name,
  stage: integer('Stage.', { minimum: 0, maximum: 100_000 }),
  type: name,
  task: anything('Parameters.'),
  phase: optional(phase),
  deadline: optional(duration),
  attempts: optional(integer('Attempts.', { minimum: 1, maximum: 100 })),
  keepsFact: optional(key),
  keepsSecret: optional(key),
  code: optional(code),
  exitCodes: optional(map('Codes by exit code.', code, { maxProperties: 64 })),
  when: optional(object('A condition.', { fact: key, is: text('Value.', { maxLength: 1024 }) })),
  onFailure: optional(choice('Meaning of a failure.', ['fail', 'degrade', 'continue', 'intervene'])),
  instructions: optional(text('Instructions.', { maxLength: 4096 })),
  reportsResidue: optional(flag('Residue.')),
});

const plan = object('A plan.', {
  steps: list('Steps.', step, { maxItems: mostSteps }),
  secrets: optional(
    list(
      'Secrets.',
      object('A secret.', {
        name: key,
        bytes: integer('Length.', { minimum: 8, maximum: 4096 }),
        encoding: choice('Encoding.', ['hex', 'base64', 'base64url']),
      }),
      { maxItems: 64 },
    ),
  ),
  joins: optional(list('Members.', name, { maxItems: 1024 })),
  leaves: optional(list('Members.', name, { maxItems: 1024 })),
  phase,
});

const observation = object('An observation.', {
  health,
  message: optional(text('Message.', { maxLength: 4096 })),
  members: map(
    'Members.',
    object('A member.', {
      health,
      message: optional(text('Message.', { maxLength: 4096 })),
      endpoint: optional(text('Endpoint.', { maxLength: 2048 })),
      detail: optional(anything('Details.')),
      isRepairable: optional(flag('Repairable.')),
    }),
    { maxProperties: 1024 },
  ),
  hasDrifted: optional(flag('Drift.')),
  certificatesExpireAt: optional(text('Time.', { format: 'date-time' })),
  refused: optional(
    list(
      'Refused operations.',
      object('One.', { operation: name, member: optional(name), reason: code, message: text('Message.', { maxLength: 1024 }) }),
      { maxItems: 64 },
    ),
  ),
});

const access = object('Access.', {
  endpoints: optional(
    list(
      'Endpoints.',
      object('One.', { name: text('Name.', { minLength: 1, maxLength: 63 }), address: text('Address.', { maxLength: 2048 }) }),
      {
        maxItems: 16,
      },
    ),
  ),
  notes: optional(list('Notes.', text('Note.', { maxLength: 1024 }), { maxItems: 16 })),
  kubernetes: optional(object('Kubernetes.', { member: name })),
  shell: optional(name),
});

/** Each question's answer, or an `AdapterProblem` that says what is wrong with it. */
export const checkedAnswer = {
  members: checked<MembersAnswer>('members', members),
  plan: checked<Plan>('plan', plan),
  observe: checked<Observation>('observe', observation),
  access: checked<AccessAnswer>('access', access),
};

function checked<T>(question: string, { json }: Schema): (answer: unknown) => T {
  const whole: JsonObject = { type: 'object', required: ['answer'], properties: { answer: json } };
  return (answer) => {
    const [fault] = compileSchema(whole).validate({ answer } as JsonObject);
    if (fault === undefined) return answer as T;
    throw new AdapterProblem(
      'BadAnswer',
      `the adapter's answer to ${question} is wrong: ${fault.field.replace(/^answer\.?/, '')}: ${fault.body}`.slice(0, 1024),
      {
        userFixable: false,
      },
    );
  };
}

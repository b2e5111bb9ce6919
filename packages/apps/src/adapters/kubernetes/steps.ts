import { type AdapterMember, AdapterProblem, type PlanRequest } from '../../adapter/contract.ts';
import { type Draft, stepId } from '../../adapter/stages.ts';
import { leadOf } from './config-request.ts';
import { type Distribution, launcher, type Role } from './distribution.ts';
import { exitCodes, type ScriptName } from './exit-codes.ts';

/** How a step differs from the usual one of its kind. */
export type Extras = Partial<
  Pick<Draft, 'phase' | 'deadline' | 'attempts' | 'code' | 'onFailure' | 'instructions' | 'keepsFact' | 'keepsSecret'>
>;

export interface Context {
  readonly distribution: Distribution;
  readonly request: PlanRequest;
  /** Wanted servers, those that are a part of the cluster first. */
  readonly servers: readonly AdapterMember[];
  /** The server that all others join, if it is not the cluster that decides. */
  readonly founder?: AdapterMember;
  readonly agents: readonly AdapterMember[];
  /** Members that the placement no longer asks for. */
  readonly unwanted: readonly AdapterMember[];
}

export const roleOf = ({ component }: AdapterMember): Role => (component === 'server' ? 'server' : 'agent');

/** The server that does what concerns the whole cluster. */
export function theServer({ servers }: Context): AdapterMember {
  const found = leadOf(servers);
  if (found === undefined) throw new AdapterProblem('ServerRequired', 'the instance has no server');
  return found;
}

export interface ScriptStep extends Extras {
  readonly script: ScriptName;
  readonly title: string;
  /** Distinguishes steps of one member that run the same script. */
  readonly verb?: string;
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly reportsResidue?: boolean;
}

/** Runs one of the adapter's scripts, whose first argument is always the program. */
export function run({ distribution }: Context, member: AdapterMember, options: ScriptStep): Draft {
  const { script, verb = script, arguments: rest = [], environment, ...extras } = options;
  const codes = exitCodes[script];
  return {
    id: stepId(verb, member),
    member: member.name,
    type: 'process.run',
    task: { script: `kubernetes-${script}`, arguments: [distribution.program, ...rest], ...(environment && { environment }) },
    ...(codes && { exitCodes: codes }),
    ...extras,
  };
}

/** The fact that says what keeps the services of a member running. */
export const initFact = ({ name }: AdapterMember): string => `init-${name}`;

/**
 * Starts or stops the service of a member. The unit of the distribution does it where systemd runs, and the node agent elsewhere. Nobody knows which before the first look at
 * the node, so a plan may contain both, and only one of them runs.
 */
export function service(context: Context, member: AdapterMember, state: 'running' | 'stopped', extras: Extras = {}): Draft[] {
  const { distribution, request } = context;
  const role = roleOf(member);
  const name = distribution.services[role];
  const verb = state === 'running' ? 'start' : 'stop';
  const title = `${state === 'running' ? 'Start' : 'Stop'} ${name} on ${member.node.name}`;
  const unit = run(context, member, { script: 'unit', verb: `${verb}-unit`, title, arguments: [verb, name], ...extras });
  const process: Draft = {
    id: stepId(`${verb}-process`, member),
    title,
    member: member.name,
    type: 'service.ensure',
    task: { name, state, command: [launcher(distribution), role] },
    ...extras,
  };
  const known = request.facts[initFact(member)];
  if (known !== undefined) return [known === 'systemd' ? unit : process];
  return [
    { ...unit, when: { fact: initFact(member), is: 'systemd' } },
    { ...process, when: { fact: initFact(member), is: 'agent' } },
  ];
}

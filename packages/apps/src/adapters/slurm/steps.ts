import { type Draft, stepId } from '../../adapter/stages.ts';
import type { SlurmNode } from './cluster.ts';

export type ScriptName =
  | 'prepare'
  | 'configure'
  | 'accounts'
  | 'credential'
  | 'check-credential'
  | 'node'
  | 'reconfigure'
  | 'unstick'
  | 'database'
  | 'accounting'
  | 'clean';

/** The codes of errors by the exit codes of scripts, which explain them in their output. */
const exitCodes: Readonly<Partial<Record<ScriptName, Readonly<Record<string, string>>>>> = {
  prepare: {
    '20': 'OtherInstance',
    '21': 'ForeignSlurm',
    '23': 'PortTaken',
    '24': 'HostNameChanged',
    '27': 'ControlGroupsMissing',
    '28': 'DiskFull',
  },
  configure: { '22': 'ProgramMissing' },
  accounts: { '25': 'AccountHasOtherUid', '26': 'UidTaken' },
  credential: { '32': 'MungeNotRunning' },
  'check-credential': { '30': 'MungeKeyMismatch', '31': 'ClockSkew', '32': 'MungeNotRunning' },
  node: { '35': 'ControllerNotAnswering', '36': 'NodeUnknown', '37': 'DrainedByOthers', '38': 'NodeNotReady' },
  reconfigure: { '23': 'PortTaken', '28': 'DiskFull', '35': 'ControllerNotAnswering' },
  database: { '40': 'DatabaseNotCreated' },
  accounting: { '41': 'AccountingNotAnswering' },
  clean: { '20': 'OtherInstance' },
};

type Extras = Partial<Pick<Draft, 'deadline' | 'attempts' | 'code' | 'onFailure' | 'instructions' | 'keepsFact' | 'reportsResidue'>>;

export interface ScriptStep extends Extras {
  readonly script: ScriptName;
  readonly title: string;
  /** Distinguishes steps of one member that run the same script. */
  readonly verb?: string;
  readonly arguments?: readonly string[];
}

/** Runs a script to its end. */
export function run(node: SlurmNode, { script, verb = script, title, arguments: args = [], ...extras }: ScriptStep): Draft {
  const codes = exitCodes[script];
  return {
    id: stepId(verb, node.member),
    title,
    member: node.member.name,
    type: 'process.run',
    task: { script: `slurm-${script}`, arguments: [...args] },
    ...(codes && { exitCodes: codes }),
    ...extras,
  };
}

/** Runs a script until it succeeds. */
export function waitFor(node: SlurmNode, { script, verb = script, title, arguments: args = [], ...extras }: ScriptStep): Draft {
  return {
    id: stepId(verb, node.member),
    title,
    member: node.member.name,
    type: 'probe.command',
    task: { script: `slurm-${script}`, arguments: [...args], timeout: '15s', interval: '1s' },
    ...extras,
  };
}

/** The most words in one argument of a script, which has 4096 characters; a script has 64 arguments. */
const mostWords = 32;

/** Words without spaces, many in one argument. */
export function packed(words: readonly string[]): string[] {
  const found: string[] = [];
  for (let start = 0; start < words.length; start += mostWords) found.push(words.slice(start, start + mostWords).join(' '));
  return found;
}

export interface FileStep {
  readonly path: string;
  readonly content: string;
  readonly mode?: string;
  readonly owner?: string;
}

export function write(node: SlurmNode, { path, content, mode = '0644', owner }: FileStep): Draft {
  return {
    id: stepId(`write-${path.split('/').at(-1)!.replaceAll('.', '-')}`, node.member),
    title: `Write ${path} on ${node.name}`,
    member: node.member.name,
    type: 'file.write',
    task: { path, content, mode, ...(owner !== undefined && { owner }) },
  };
}

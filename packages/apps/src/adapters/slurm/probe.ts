import { fieldsOf, isObject } from '@capstan/machinery';
import type { AdapterMember, AdapterProbe, InstanceRequest, ProbeAnswer } from '../../adapter/contract.ts';
import { gpusOf, nodeOf } from './cluster.ts';
import { settingsOf } from './settings.ts';

const every = '10s';

export function probeOf(member: AdapterMember, { instance }: InstanceRequest): AdapterProbe {
  const node = nodeOf(member);
  const accounting = settingsOf(instance).hasAccounting ? 'yes' : 'no';
  const files = member.component === 'compute' ? gpusOf(node).map(({ file }) => file) : [];
  return { script: 'slurm-probe', arguments: [member.component, node.name, accounting, ...files], every };
}

/** The answer of the script `probe`. Fields that it did not print are empty. */
export interface Findings {
  readonly isMungedRunning: boolean;
  /** The complaint of munge about a credential of this member itself; empty if there is none. */
  readonly munge: string;
  /** Identifies the key of munge without giving it away. */
  readonly key: string;
  /** The host name of the machine, and its clock in seconds since 1970. */
  readonly host: string;
  readonly now: number | undefined;
  /** Hashes of what it knows of the other members and of the users; empty if it does not say. */
  readonly hosts: string;
  readonly users: string;
  /** Folders on disks without space. */
  readonly full: readonly string[];
  /** The last complaint in the log of the daemon of this member, which may be old; empty if there is none. */
  readonly why: string;
  /** How often the daemon of this member was started in the last ten minutes. */
  readonly starts: number;
  /** The answer of `scontrol ping`. */
  readonly controller: string;
  readonly isControllerRunning: boolean;
  /** Absent without accounting. */
  readonly isAccountingRunning?: boolean;
  readonly isDatabaseRunning?: boolean;
  readonly isNodeRunning: boolean;
  readonly doesNodeAnswer: boolean;
  /** As Slurm says it, such as `IDLE+DRAIN`; empty if it says nothing. */
  readonly state: string;
  readonly reason: string;
  /** Device files of GPUs that do not exist. */
  readonly missing: readonly string[];
}

export function findingsIn({ output }: ProbeAnswer): Findings | undefined {
  const parsed = parse(output);
  if (!isObject(parsed)) return undefined;
  const fields = fieldsOf(parsed);
  const text = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '');
  const list = (name: string): string[] => (Array.isArray(fields[name]) ? fields[name].filter((one) => typeof one === 'string') : []);
  const number = (name: string): number | undefined => (typeof fields[name] === 'number' ? fields[name] : undefined);
  return {
    isMungedRunning: fields['munged'] === true,
    munge: text('munge'),
    key: text('key'),
    host: text('host'),
    now: number('now'),
    hosts: text('hosts'),
    users: text('users'),
    full: list('full'),
    why: text('why'),
    starts: number('starts') ?? 0,
    controller: text('controller'),
    isControllerRunning: fields['slurmctld'] === true,
    ...(fields['slurmdbd'] !== undefined && {
      isAccountingRunning: fields['slurmdbd'] === true,
      isDatabaseRunning: fields['database'] === true,
    }),
    isNodeRunning: fields['slurmd'] === true,
    doesNodeAnswer: fields['answers'] === true,
    state: text('state'),
    reason: text('reason'),
    missing: list('missing'),
  };
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

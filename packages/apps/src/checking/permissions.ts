import { posix } from 'node:path';
import type { AppPermitted, TaskTypeName } from '@capstan/api';
import { isObject } from '@capstan/machinery';
import type { PlannedStep } from '../adapter/contract.ts';
import { mentionsIn } from './placeholders.ts';

export interface PermittedScripts {
  /** SHA-256 of the content of a NodeScript; undefined if there is none. */
  hashOf(script: string): string | undefined;
}

/** Fields whose placeholders of secrets the agent replaces, by the type of the task. */
const secretFields: Readonly<Record<string, readonly string[]>> = {
  'file.write': ['content'],
  'process.run': ['arguments', 'environment'],
  'service.ensure': ['environment'],
};

/** Variables by which somebody who does not choose the program would still choose the code that runs. */
const codeVariables = /^(LD_.*|PATH|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4|IFS|PYTHON.*|PERL.*|NODE_OPTIONS)$/;

/** Why a step is not permitted; undefined if it is. */
export function forbiddance(step: PlannedStep, permitted: AppPermitted, scripts: PermittedScripts): string | undefined {
  const parameters = step.task as Readonly<Record<string, unknown>>;
  const allowed = secretFields[step.type] ?? [];
  for (const [field, value] of Object.entries(parameters))
    if (!allowed.includes(field) && mentionsIn(value).secrets.size > 0)
      return `it has a secret in ${field}, where ${step.type} cannot have one`;
  const variables = Object.keys(isObject(parameters['environment']) ? parameters['environment'] : {});
  const code = variables.find((name) => codeVariables.test(name));
  if (code !== undefined) return `it sets the environment variable ${code}`;
  const rule = rules[step.type];
  return rule === undefined ? `apps may not use ${step.type}` : rule(parameters, permitted, scripts);
}

type Rule = (parameters: Readonly<Record<string, unknown>>, permitted: AppPermitted, scripts: PermittedScripts) => string | undefined;

const path: Rule = ({ path: file }, { paths = [] }) => pathFault(file as string, paths);

const script: Rule = (parameters, { scripts = [] }, known) => {
  const { script: name, sha256 } = parameters as { readonly script: string; readonly sha256?: string };
  const found = scripts.find((one) => one.name === name);
  if (found === undefined) return `the App does not permit the script ${name}`;
  const hash = known.hashOf(found.name);
  if (hash === undefined) return `there is no NodeScript ${name}`;
  if (found.sha256 !== undefined && found.sha256 !== hash)
    return `the NodeScript ${name} is not the one that the App permits: its SHA-256 is ${hash}`;
  return sha256 !== undefined && sha256 !== hash
    ? `the NodeScript ${name} has the SHA-256 ${hash}, and the step asks for ${sha256}`
    : undefined;
};

const nothing: Rule = () => undefined;

/** Types without a rule are not for apps. */
const rules: Readonly<Partial<Record<TaskTypeName, Rule>> & Record<string, Rule | undefined>> = {
  'file.write': path,
  'artifact.fetch': path,
  'package.ensure': ({ names }, { packages = [] }) => firstOther('package', names, packages),
  'service.ensure': (parameters, permitted, known) => {
    const { name, command } = parameters;
    const { services = [], commands = [] } = permitted;
    const fault = firstOther('service', [name], services);
    if (fault !== undefined) return fault;
    if (parameters['script'] !== undefined) return script(parameters, permitted, known);
    return Array.isArray(command) ? firstOther('command', command.slice(0, 1), commands) : undefined;
  },
  'process.run': script,
  'probe.command': script,
  'probe.http': nothing,
  'probe.tcp': nothing,
  'gpu.inspect': nothing,
  'collect.logs': ({ files = [], units = [] }, { paths = [], services = [] }) => {
    for (const file of files as readonly string[]) {
      const fault = pathFault(file, [...paths, '/var/log']);
      if (fault !== undefined) return fault;
    }
    return firstOther('service', units, services);
  },
};

function firstOther(what: string, names: unknown, permitted: readonly string[]): string | undefined {
  const other = (names as readonly string[]).find((name) => !permitted.includes(name));
  return other === undefined ? undefined : `the App does not permit the ${what} ${other}`;
}

/** A path with `..`, `.` or two slashes could lead elsewhere than it seems. */
function pathFault(file: string, permitted: readonly string[]): string | undefined {
  if (posix.normalize(file) !== file) return `the path ${file} is not in its shortest form`;
  const isWithin = permitted.some((one) => file === one || file.startsWith(one.endsWith('/') ? one : `${one}/`));
  return isWithin ? undefined : `the App does not permit the path ${file}`;
}

import { type LogFormat, logFormats } from '../log.ts';
import { readConfig } from './file.ts';
import { oneOf, type Shape, section, text, unchecked } from './shape.ts';

/** The sections of the configuration file, one for each process. */
const sections = ['apiserver', 'controllerManager', 'platformControllers', 'runtimeApi', 'console'] as const;
type SectionName = (typeof sections)[number];

/** The part of the file that one process uses. */
export interface ProcessConfig<Config> {
  readonly dataDirectory?: string;
  readonly logFormat?: LogFormat;
  readonly settings: Config;
}

/** Settings that all processes share. */
const shared = { dataDirectory: text('a path'), logFormat: oneOf(new Set(logFormats), 'text or json') };

/** Settings that moved from the top level of the file into a section. */
const inSection = new Map<string, SectionName>([
  ...[
    'advertise',
    'listen',
    'etcd',
    'runtimeConfig',
    'admission',
    'history',
    'limits',
    'audit',
    'authentication',
    'authorization',
    'workspaces',
  ].map((key) => [key, 'apiserver'] as const),
  ...['kubeconfigFile', 'leaderElection', 'controllers', 'concurrency', 'useAccounts', 'signing'].map(
    (key) => [key, 'controllerManager'] as const,
  ),
]);

/** Reads the configuration file for one process. Each process checks its own section only. */
export function readProcessConfig<Config extends object>(file: string, name: SectionName, shape: Shape<Config>): ProcessConfig<Config> {
  const others = Object.fromEntries(sections.filter((one) => one !== name).map((one) => [one, unchecked]));
  const whole = readConfig(file, section({ ...shared, ...others, [name]: shape }, placeOf)) as {
    readonly dataDirectory?: string;
    readonly logFormat?: LogFormat;
  } & Readonly<Record<string, unknown>>;
  return {
    ...(whole.dataDirectory !== undefined && { dataDirectory: whole.dataDirectory }),
    ...(whole.logFormat !== undefined && { logFormat: whole.logFormat }),
    settings: (whole[name] ?? {}) as Config,
  };
}

/** The whole file, unchecked, for the command that starts the processes. */
export function readWholeConfig(file: string): WholeConfig {
  const all = Object.fromEntries(sections.map((name) => [name, unchecked]));
  return readConfig(file, section({ ...shared, ...all }, placeOf)) as WholeConfig;
}

export interface WholeConfig {
  readonly dataDirectory?: string;
  readonly logFormat?: LogFormat;
  /** Unchecked. */
  readonly apiserver?: { readonly listen?: { readonly host?: string; readonly port?: string }; readonly etcd?: object };
  readonly controllerManager?: ManagerSection;
  readonly platformControllers?: ManagerSection;
  readonly runtimeApi?: {
    readonly enabled?: string;
    readonly listen?: { readonly port?: string };
    readonly health?: { readonly port?: string };
    readonly jobs?: { readonly tokenFile?: string };
  };
  readonly console?: WholeConfig['runtimeApi'];
}

export interface ManagerSection {
  readonly listen?: { readonly port?: string };
  readonly leaderElection?: { readonly enabled?: string };
}

function placeOf(key: string): string | undefined {
  const place = inSection.get(key);
  return place && `"${key}" belongs in the section "${place}"; write "${place}:" above it and indent it`;
}

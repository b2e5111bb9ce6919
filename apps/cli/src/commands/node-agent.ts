import { isNodeName } from '@capstan/api';
import {
  AgentError,
  checkAgent,
  type DeclaredDirectory,
  type DriverName,
  echo,
  enrollMachine,
  nodeOfMachine,
  parseDirectory,
  prefixVariable,
  restartCode,
  runAgent,
} from '@capstan/node-agent';
import { Failure } from '../failure.ts';
import { holdDirectory, nodeAgentHolder } from '../holder.ts';
import { type LogFormat, processLog } from '../log.ts';
import { inviteThisMachine, nodeNameOf } from '../nodes/self-enrollment.ts';
import { announceReady } from '../supervise/description.ts';
import { bytesIn } from '../units/amounts.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import { shutdownSignal } from './shutdown.ts';
import { capstanVersion } from './version.ts';

export interface NodeAgentFlags {
  readonly server?: string;
  readonly token?: string;
  readonly caHash?: string;
  readonly kubeconfig?: string;
  readonly name?: string;
  readonly stateDir: string;
  readonly gpus?: string;
  readonly heartbeatSeconds: number;
  readonly taskOutputHours: number;
  readonly allowUnisolated?: boolean;
  readonly containerEngine?: 'podman' | 'docker';
  readonly unitDisk: string;
  readonly echo?: boolean;
  readonly sharedDirectory?: readonly string[];
  readonly processDriver?: DriverName;
  readonly enrollOnly?: boolean;
  readonly selfCheck?: boolean;
  readonly logFormat?: LogFormat;
}

type Join = NonNullable<Parameters<typeof runAgent>[0]['join']>;

/** Runs the agent of this machine until a signal stops it. */
export async function nodeAgent(flags: NodeAgentFlags): Promise<void> {
  const { stateDir, gpus, heartbeatSeconds, allowUnisolated = false, echo: echoes, logFormat = 'text' } = flags;
  const directories = directoriesIn(flags.sharedDirectory ?? []);
  const signal = shutdownSignal();
  const log = processLog({ process: 'node-agent', format: logFormat });
  // These two work beside a running agent.
  if (flags.selfCheck === true) return await checkAgent(stateDir, AbortSignal.any([signal, AbortSignal.timeout(enrollTimeout)]));
  if (flags.enrollOnly === true && (await isEnrolled(flags, log))) return;
  using _held = holdDirectory(stateDir, nodeAgentHolder);
  try {
    const join = invitationIn(flags) ?? (await ownInvitation(flags, { signal, log }));
    if (flags.enrollOnly === true) return await enrollOnly({ stateDirectory: stateDir, join, log, signal });
    const ending = await runAgent({
      stateDirectory: stateDir,
      join,
      declaredGpus: gpus,
      processDriver: flags.processDriver,
      units: { allowUnisolated, disk: diskIn(flags.unitDisk), ...(flags.containerEngine && { engine: flags.containerEngine }) },
      volumes: { directories },
      version: capstanVersion(),
      heartbeatInterval: heartbeatSeconds * 1000,
      taskOutputRetention: flags.taskOutputHours * 3_600_000,
      handlers: echoes === true ? echo : {},
      signal: withLauncher(signal),
      log,
      onReady: (node) => {
        log(`this machine is the node ${node}`);
        announceReady({ url: '', kubeconfigPath: '', ports: [] });
      },
    });
    if (ending === 'restart') process.exitCode = restartCode;
  } catch (error) {
    if (error instanceof AgentError) throw new Failure('nodeRefused', `${error.message}.`, error);
    throw error;
  }
  if (process.connected) process.disconnect();
}

/** In bytes: with less, a unit can do nothing. */
const leastDisk = 64 << 20;

function diskIn(text: string): number {
  const size = bytesIn('--unit-disk', text);
  if (size >= leastDisk) return size;
  throw new Failure('usage', `--unit-disk: expected at least 64Mi, found ${JSON.stringify(text)}.`);
}

function directoriesIn(words: readonly string[]): DeclaredDirectory[] {
  const found = words.map((text) => {
    const one = parseDirectory(text);
    if (one !== undefined) return one;
    throw new Failure('usage', `--shared-directory: expected NAME=/PATH with a name other than local, found ${JSON.stringify(text)}.`);
  });
  const twice = found.find(({ name }, index) => found.findIndex((one) => one.name === name) !== index);
  if (twice !== undefined) throw new Failure('usage', `--shared-directory: ${twice.name} is given twice.`);
  return found;
}

/** Aborts too when the launcher that started this agent is gone: the next one starts an agent of its own, and two would share an identity. */
function withLauncher(signal: AbortSignal): AbortSignal {
  const launcher = process.ppid;
  if (process.env[prefixVariable] === undefined) return signal;
  const gone = new AbortController();
  setInterval(() => {
    if (process.ppid !== launcher) gone.abort();
  }, 2_000).unref();
  return AbortSignal.any([signal, gone.signal]);
}

/** In milliseconds: nobody wants to wait longer for a server that does not answer. */
const enrollTimeout = 60_000;

async function isEnrolled(flags: NodeAgentFlags, log: (line: string) => void): Promise<boolean> {
  const node = await nodeOfMachine(flags.stateDir, invitationIn(flags)?.token);
  if (node !== undefined) log(`this machine is the node ${node}`);
  return node !== undefined;
}

async function enrollOnly(options: Parameters<typeof enrollMachine>[0]): Promise<void> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(enrollTimeout)]);
  const node = await enrollMachine({ ...options, signal });
  if (node === undefined) throw new Failure('unexpected', 'this machine could not be enrolled: no server answered in time.');
  options.log(`this machine is the node ${node}`);
}

/** The invitation of a join command; undefined without one. */
function invitationIn({ server, token = process.env['CAPSTAN_NODE_TOKEN'], caHash }: NodeAgentFlags): Join | undefined {
  const given = [server, token, caHash].filter((one) => one !== undefined).length;
  if (given !== 0 && given !== 3)
    throw new Failure('usage', 'expected --server, --token and --ca-hash together, as "capstan node enroll" prints them.');
  return given === 0 ? undefined : { server: server!, token: token!, authorityHash: caHash! };
}

/** An invitation by the person who starts the agent; undefined if none is needed. */
async function ownInvitation(
  { kubeconfig, name, stateDir: stateDirectory }: NodeAgentFlags,
  { signal, log }: { readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<Join | undefined> {
  if (kubeconfig === undefined) return undefined;
  const node = name ?? nodeNameOf();
  if (!isNodeName(node))
    throw new Failure('usage', `--name: expected at most 58 lower-case letters, digits and hyphens, found ${JSON.stringify(node)}.`);
  using client = workspaceClient({ kubeconfig });
  return await inviteThisMachine({ client, node, stateDirectory, log, signal });
}

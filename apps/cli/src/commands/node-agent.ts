import { AgentError, echo, runAgent } from '@capstan/node-agent';
import { Failure } from '../failure.ts';
import { type LogFormat, processLog } from '../log.ts';
import { shutdownSignal } from './shutdown.ts';
import { capstanVersion } from './version.ts';

export interface NodeAgentFlags {
  readonly server?: string;
  readonly token?: string;
  readonly caHash?: string;
  readonly stateDir: string;
  readonly gpus?: string;
  readonly echo?: boolean;
  readonly logFormat?: LogFormat;
}

/** Runs the agent of this machine until a signal stops it. */
export async function nodeAgent({
  server,
  token = process.env['CAPSTAN_NODE_TOKEN'],
  caHash,
  stateDir,
  gpus,
  echo: echoes,
  logFormat = 'text',
}: NodeAgentFlags): Promise<void> {
  const given = [server, token, caHash].filter((one) => one !== undefined).length;
  if (given !== 0 && given !== 3)
    throw new Failure('usage', 'expected --server, --token and --ca-hash together, as "capstan node enroll" prints them.');
  const join = given === 0 ? undefined : { server: server!, token: token!, authorityHash: caHash! };
  try {
    await runAgent({
      stateDirectory: stateDir,
      join,
      declaredGpus: gpus,
      version: capstanVersion(),
      handlers: echoes === true ? echo : {},
      signal: shutdownSignal(),
      log: processLog({ process: 'node-agent', format: logFormat }),
    });
  } catch (error) {
    if (error instanceof AgentError) throw new Failure('nodeRefused', `${error.message}.`, error);
    throw error;
  }
  if (process.connected) process.disconnect();
}

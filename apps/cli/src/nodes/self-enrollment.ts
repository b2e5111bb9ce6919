import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUNode, gpuNodeKind, type Invitation, isNodeName, platformWorkspace } from '@capstan/api';
import { ApiError, type Client, ConnectionError, isNotFound } from '@capstan/client';
import { Backoff } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { invite } from './enrollment.ts';

export interface SelfEnrollment {
  /** With the rights to create enrolments. */
  readonly client: Client;
  readonly node: string;
  readonly stateDirectory: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** In milliseconds: a new installation takes about this long at most. */
const ordinaryWait = 5_000;
/** In minutes: the token is used at once. */
const lifetime = 10;

/**
 * Invites this machine, with the rights of the person who starts the agent. Undefined if the machine is a node already, or the signal aborts. Waits while the platform
 * is being installed. Never takes over the identity of another machine.
 */
export async function inviteThisMachine({ client, node, stateDirectory, log, signal }: SelfEnrollment): Promise<Invitation | undefined> {
  if (existsSync(join(stateDirectory, 'identity.json'))) return undefined;
  const backoff = new Backoff({ base: 200, max: 5_000 });
  const began = performance.now();
  let told = '';
  while (!signal.aborted) {
    try {
      if ((await identityOf(client, node)) !== undefined)
        throw new Failure(
          'nodeRefused',
          `the node ${node} exists, and ${stateDirectory} does not have its identity. Remove it with "capstan node remove ${node}", or choose another name with --name.`,
        );
      return await invite(client, { node, minutes: lifetime });
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
      const reason = isNotFound(error) ? 'the platform is not installed yet' : error.message;
      // A new installation takes a moment, which is not worth a line.
      const isOrdinary = isNotFound(error) && performance.now() - began < ordinaryWait;
      if (!isOrdinary && reason !== told) {
        log(`this machine cannot become a node yet: ${reason}`);
        told = reason;
      }
      await sleep(backoff.next(), undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}

async function identityOf(client: Client, node: string): Promise<unknown> {
  const nodes = client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind);
  const { items } = await nodes.list({ fieldSelector: `metadata.name=${node}` });
  return items[0]?.status?.identity;
}

/** The name of this machine as the name of a node: `GPU_1.example.com` is `gpu-1`. */
export function nodeNameOf(host = hostname()): string {
  const name = host
    .split('.')[0]!
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 58)
    .replaceAll(/^-+|-+$/g, '');
  return isNodeName(name) ? name : 'local';
}

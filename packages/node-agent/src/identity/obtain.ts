import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import { AgentError } from './error.ts';
import { enroll, hashOfToken, type JoinOptions } from './membership.ts';
import type { Identity, StateDirectory } from './state.ts';

export interface ObtainOptions {
  /** Needed until the machine has an identity, and to replace it. */
  readonly join: JoinOptions | undefined;
  readonly now: () => Date;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A server that has just been told of a token may be another than the one that is asked. */
const triesWithWrongToken = 5;

/**
 * The identity of this machine: the stored one, or a new one if there is none or another token is given. Tries until a server answers; undefined if the
 * signal aborts first.
 */
export async function obtainIdentity(
  state: StateDirectory,
  { join, now, backoff, log, signal }: ObtainOptions,
): Promise<Identity | undefined> {
  const stored = await state.read();
  if (stored !== undefined && (join === undefined || hashOfToken(join.token) === stored.tokenHash)) return stored;
  if (join === undefined)
    throw new AgentError('refused', 'this machine is no node yet. Get a join command with "capstan node enroll <name>" and run it here');
  const wait = new Backoff(backoff);
  for (let tries = 1; !signal.aborted; tries++) {
    try {
      const identity = await enroll(join, state, { now, signal });
      log(`this machine was enrolled as the node ${identity.node}`);
      return identity;
    } catch (error) {
      if (signal.aborted) break;
      if (!(error instanceof AgentError) || error.code === 'untrusted') throw error;
      if (error.code === 'refused' && (error.refusal !== 'Unauthorized' || tries >= triesWithWrongToken)) throw error;
      log(`this machine could not be enrolled: ${error.message}; trying again`);
      await sleep(wait.next(), undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}

import { type NodeTask, nodeTaskKind } from '@capstan/api';
import { ApiError, type Client } from '@capstan/client';
import type { Output } from '../operations/scene.ts';

/** Reads the output of a task. */
export type ReadOutput = (task: NodeTask, signal: AbortSignal) => Promise<Output>;

const mostLines = 200;
const mostBytes = 65_536;
/** In milliseconds. */
const patience = 10_000;

/** The last lines of the output: from the agent of the node or, if that is away or gone, from what it has sent to the control plane. */
export function outputsThrough(platform: Client): ReadOutput {
  return async ({ metadata: { namespace = '', name = '' }, status }, signal) => {
    const query = new URLSearchParams({
      tailLines: String(mostLines),
      ...(status?.attempt !== undefined && { attempt: String(status.attempt) }),
      // It may become a secret or a fact. A part of it is good enough to see why a step failed.
      ...(status?.phase === 'Succeeded' && { whole: 'true' }),
    });
    const { group, version, resource } = nodeTaskKind;
    const path = `/apis/${group}/${version}/namespaces/${namespace}/${resource}/${name}/log?${query.toString()}`;
    try {
      const answer = await platform.send({
        method: 'GET',
        path,
        dedicated: true,
        signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
      });
      let text = '';
      await answer.read(patience, (part) => {
        text = (text + part).slice(-mostBytes);
      });
      if (answer.code !== 200) throw ApiError.of(answer.code, text);
      return { kind: 'read', text };
    } catch (error) {
      if (signal.aborted) throw error;
      return { kind: 'unavailable', message: error instanceof Error ? error.message : String(error) };
    }
  };
}

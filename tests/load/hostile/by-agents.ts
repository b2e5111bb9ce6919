import { enrollPath, largestLogPart, logStorePath, nodeNamespace } from '@capstan/api';
import { tunnelPath, tunnelProtocol } from '@capstan/streams';
import { agentWork } from './fleet.ts';
import { type Attack, asking, dial, textOf } from './means.ts';
import type { World } from './world.ts';

const fleet = '/clusters/root:platform/apis/fleet.capstan.dev/v1alpha1';
const merge = { 'content-type': 'application/merge-patch+json' };
const gpus = Array.from({ length: 128 }, (_, index) => ({
  uuid: `GPU-${String(index).padStart(32, '0')}`,
  health: { state: 'Healthy', reason: 'Healthy', message: 'x'.repeat(1_000), since: '2026-01-01T00:00:00Z' },
  model: 'H200',
  memoryBytes: 151_397_597_184,
}));
const output = 'x'.repeat(largestLogPart - 1).concat('\n');

/** The preface of an HTTP/2 server, and many pings. */
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const pings = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])));

/** Opens tunnels again and again, and floods each with frames that nobody asked for. */
function tunnels(atOnce: number): Attack {
  return {
    async run(world, count, signal) {
      const client = async (): Promise<void> => {
        while (!signal.aborted) {
          const socket = await dial(world, signal, 'agent');
          if (socket === undefined) continue;
          socket.resume();
          const headers = { connection: 'Upgrade', upgrade: tunnelProtocol, 'content-length': '0' };
          socket.write(textOf(world, { method: 'POST', path: tunnelPath, headers }, 'agent'));
          count('opened');
          const closed = new Promise((resolve) => socket.once('close', resolve));
          socket.write(settings);
          const flood = (): void => {
            while (!socket.destroyed && socket.write(pings));
            if (!socket.destroyed) socket.once('drain', flood);
          };
          flood();
          await closed;
        }
      };
      await Promise.all(Array.from({ length: atOnce }, client));
    },
  };
}

const taskPath = ({ agent: { node } }: World): string => `${fleet}/namespaces/${nodeNamespace(node)}/nodetasks/${agentWork}/status`;

/** Attacks by a node agent, and by those who would like to be one. */
export const byAgents: readonly (readonly [string, Attack])[] = [
  [
    'status writes of a node agent, 32 connections',
    asking(
      32,
      ({ agent }, index) => ({
        method: 'PATCH',
        path: `${fleet}/gpunodes/${agent.node}/status`,
        headers: merge,
        body: JSON.stringify({ status: { gpuSummary: `${index}×H200`, gpus } }),
      }),
      'agent',
    ),
  ],
  [
    'task reports of a node agent, 32 connections',
    asking(
      32,
      (world, index) => ({
        method: 'PATCH',
        path: taskPath(world),
        headers: merge,
        body: JSON.stringify({ status: { phase: 'Running', step: `${index}`.padEnd(250, 'x') } }),
      }),
      'agent',
    ),
  ],
  [
    'log uploads of a node agent, 16 connections',
    asking(
      16,
      (_world, index) => ({
        method: 'PUT',
        path: `${logStorePath}${agentWork}/1?gap=true&offset=${index * largestLogPart}`,
        headers: { 'content-type': 'application/octet-stream' },
        body: output,
      }),
      'agent',
    ),
  ],
  ['tunnels of a node agent, flooded, 16 connections', tunnels(16)],
  [
    'enrolments with bad tokens, 32 connections',
    asking(
      32,
      (_world, index) => ({
        method: 'POST',
        path: enrollPath,
        headers: { authorization: `Bearer join-${index}.${'x'.repeat(43)}` },
        body: JSON.stringify({ request: 'x'.repeat(2_000) }),
      }),
      'nobody',
    ),
  ],
];

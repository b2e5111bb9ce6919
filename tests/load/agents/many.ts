import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { authorityPath, enrollmentToken, type NodeEnrollment, newObject, nodeEnrollmentKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { JoinOptions } from '@capstan/node-agent';
import { certificateFingerprint } from '@capstan/pki';
import { shared } from '../client/shared.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Assignment, Report } from './generator.ts';

export interface Agents extends Disposable {
  readonly pid: number;
  readonly nodes: readonly string[];
  /** How long it took until all had joined. */
  readonly seconds: number;
  /** Called with each task that an agent has reported as running. */
  onRunning: (task: string, at: number) => void;
}

export interface ManyAgents {
  readonly count: number;
  /** Their units run no processes, so that one machine can have thousands of them. */
  readonly pretendsPrograms?: boolean;
}

/** Starts agents in one process beside the control plane, and waits until all of them have joined. */
export async function startAgents(plane: ControlPlane, { count, pretendsPrograms = false }: ManyAgents): Promise<Agents> {
  const joins = await inviteMany(plane.platform, count);
  const child = fork(new URL('./generator.ts', import.meta.url), {
    execArgv: ['--max-old-space-size=4096'],
    // Machines do not wait for each other's disks, as agents in one process would for its few threads.
    env: { ...process.env, UV_THREADPOOL_SIZE: '64' },
  });
  const began = performance.now();
  const agents: Agents = {
    pid: child.pid ?? Number.NaN,
    nodes: joins.map(({ node }) => node),
    seconds: 0,
    onRunning: () => {},
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
  const all = Promise.withResolvers<void>();
  let connected = 0;
  child.on('exit', (code) => all.reject(new Error(`the generator ended with ${code}`)));
  child.on('message', (report: Report) => {
    if (report.kind === 'running') agents.onRunning(report.task, report.at);
    else if (report.kind === 'failed') all.reject(new Error(report.message));
    else if (++connected === count) all.resolve();
  });
  const directory = plane.directory.join('agents');
  child.send({ directory, declaredGpus: plane.declaredGpus(), joins, pretendsPrograms } satisfies Assignment);
  try {
    await all.promise;
  } catch (error) {
    agents[Symbol.dispose]();
    throw error;
  }
  return Object.assign(agents, { seconds: (performance.now() - began) / 1000 });
}

async function inviteMany(platform: Client, count: number): Promise<{ node: string; join: JoinOptions }[]> {
  const { text } = await platform.under('/').raw({ method: 'GET', path: authorityPath });
  const { origin: server } = new URL(platform.connection.server);
  const enrollments = platform.resource<NodeEnrollment>(nodeEnrollmentKind);
  const joins: { node: string; join: JoinOptions }[] = [];
  await shared(
    Array.from({ length: count }, (_, index) => `load-${index}`),
    20,
    async (node) => {
      const secret = randomBytes(32).toString('base64url');
      const spec = { node, secretHash: createHash('sha256').update(secret).digest('hex'), expiresAt: '2999-01-01T00:00:00Z' };
      await enrollments.create(newObject(nodeEnrollmentKind, { metadata: { name: node }, spec }));
      joins.push({ node, join: { server, token: enrollmentToken(node, secret), authorityHash: certificateFingerprint(text) } });
    },
  );
  return joins;
}

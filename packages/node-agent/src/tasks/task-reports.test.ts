import type { NodeTask, NodeTaskStatus } from '@capstan/api';
import { ApiError, type Client } from '@capstan/client';
import { expect, test } from 'vitest';
import { TaskReports } from './task-reports.ts';
import type { TaskRequest } from './task-type.ts';

/** A control plane with one task, which others may change. */
class Tasks {
  readonly requests: string[] = [];
  revision = 10;
  status: NodeTaskStatus | undefined;
  uid = 'u1';

  get client(): Client {
    const answer = () => ({ metadata: { name: 't', uid: this.uid, resourceVersion: String(this.revision) }, status: this.status });
    const resource = {
      get: async () => {
        this.requests.push('get');
        return answer();
      },
      updateStatus: async ({ metadata, status }: NodeTask) => {
        this.requests.push(`put ${status?.phase}${status?.step === undefined ? '' : `: ${status.step}`}`);
        if (metadata.resourceVersion !== String(this.revision)) throw ApiError.of(409, '');
        this.status = status;
        this.revision++;
        return answer();
      },
    };
    return { resource: () => ({ in: () => resource }) } as unknown as Client;
  }
}

const forever = new AbortController().signal;
const request = { uid: 'u1', name: 't', attempt: 1, resourceVersion: '10', spec: {} } as unknown as TaskRequest;
const running: NodeTaskStatus = { phase: 'Running', attempt: 1, claim: 'c', startedAt: '2026-01-01T00:00:00.000Z' };
const done: NodeTaskStatus = { ...running, phase: 'Succeeded', finishedAt: '2026-01-01T00:00:01.000Z' };

function started({ stepInterval = 60_000 } = {}) {
  const tasks = new Tasks();
  const reports = new TaskReports({ client: tasks.client, node: 'n1', backoff: { base: 1, max: 1 }, log: () => {}, stepInterval });
  return { tasks, reports };
}

test('a short task costs two requests: its claim and its end', async () => {
  const { tasks, reports } = started();
  expect(await reports.claim(request, running, forever)).toBe('claimed');
  const step = reports.report(request, { ...running, step: 'looking' }, forever);
  await reports.report(request, done, forever);
  await step;
  expect(tasks.requests).toEqual(['put Running', 'put Succeeded']);
  expect(tasks.status).toEqual(done);
});

test('the step of a longer task is reported after a while', async () => {
  const { tasks, reports } = started({ stepInterval: 5 });
  await reports.claim(request, running, forever);
  await reports.report(request, { ...running, step: 'looking' }, forever);
  expect(tasks.requests).toEqual(['put Running', 'put Running: looking']);
});

test('a task that somebody else has changed is read before it is reported', async () => {
  const { tasks, reports } = started();
  await reports.claim(request, running, forever);
  tasks.revision++;
  await reports.report(request, done, forever);
  expect(tasks.requests).toEqual(['put Running', 'put Succeeded', 'get', 'put Succeeded']);
});

test('a task that another machine has claimed in between is left to it', async () => {
  const { tasks, reports } = started();
  await reports.claim(request, running, forever);
  tasks.revision++;
  tasks.status = { ...running, claim: 'other' };
  await reports.report(request, done, forever);
  expect(tasks.status.claim).toBe('other');
  tasks.status = { ...running, claim: 'third' };
  expect(await reports.claim({ ...request, resourceVersion: '1' }, running, forever)).toBe('taken');
});

test('reports that wait end with the agent', async () => {
  const { tasks, reports } = started();
  const waiting = new AbortController();
  const step = reports.report(request, { ...running, step: 'looking' }, waiting.signal);
  await reports[Symbol.asyncDispose]();
  waiting.abort(new Error('stopped'));
  await expect(step).rejects.toThrow('stopped');
  expect(tasks.requests).toEqual([]);
});

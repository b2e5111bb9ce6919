import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { validateJob, validateJobUpdate } from './batch-validation.ts';

function problems(name: string, spec: object): string[] {
  const template = { metadata: { labels: { a: 'b' } }, spec: { restartPolicy: 'Never', containers: [] } };
  const job: KubeObject = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { manualSelector: true, selector: { matchLabels: { a: 'b' } }, template, ...spec },
  };
  const found = validateJob(job).map(({ field, body }) => `${field}: ${body}`);
  return found.filter((problem) => !problem.startsWith('spec.template'));
}

describe('a job', () => {
  test.each([
    ['', 'spec.managedBy: Required value'],
    ['x', 'spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
  ])('requires a domain-prefixed managedBy, not %j', (managedBy, problem) => {
    expect(problems('j', { managedBy })).toEqual([problem]);
  });

  test('requires a name that is valid for its last pod when indexed', () => {
    expect(problems('a.b', { completionMode: 'Indexed', completions: 3, parallelism: 1 })).toEqual([
      'metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-2',
    ]);
  });

  test('reports a wrong generated selector only on create, not on update', () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { restartPolicy: 'Never', containers: [] } };
    const job: KubeObject = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j', uid: 'u' }, spec: { selector: {}, template } };
    const fields = (errors: readonly { field: string }[]) => errors.map(({ field }) => field);
    const required = 'spec.template.metadata.labels[controller-uid]';
    expect(fields(validateJob(job))).toContain(required);
    expect(fields(validateJobUpdate(job, job))).toContain('spec.template.spec.containers');
    expect(fields(validateJobUpdate(job, job))).not.toContain(required);
  });

  test('with an invalid selector does not get an error about the generated selector', () => {
    const found = problems('j', { manualSelector: false, selector: { matchExpressions: [{ key: 'x', operator: 'x' }] } });
    expect(found).toEqual(['spec.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator']);
  });
});

import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { validateJob } from './batch-validation.ts';

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
  ])('is looked after by somebody with a domain, not by %j', (managedBy, problem) => {
    expect(problems('j', { managedBy })).toEqual([problem]);
  });

  test('that numbers its pods has a name for the last of them', () => {
    expect(problems('a.b', { completionMode: 'Indexed', completions: 3, parallelism: 1 })).toEqual([
      'metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-2',
    ]);
  });
});

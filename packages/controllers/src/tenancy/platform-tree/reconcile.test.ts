import type { Workspace } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { createTree, firstWorkspaces } from './reconcile.ts';

const all = firstWorkspaces.map(({ name }) => name);

/** A server on which workspaces become ready with time. */
async function run(existing: readonly string[]): Promise<string[]> {
  const phases = new Map<string, Workspace['status'] & object>(existing.map((name) => [name, { phase: 'Ready' }]));
  const created: string[] = [];
  await createTree({
    find: async ({ name }) => {
      const status = phases.get(name);
      return status && { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, status };
    },
    create: async ({ name }) => {
      expect([...phases.values()].every(({ phase }) => phase === 'Ready')).toBe(true);
      created.push(name);
      if (!phases.has(name)) phases.set(name, { phase: 'Initializing' });
    },
    wait: async () => {
      for (const name of phases.keys()) phases.set(name, { phase: 'Ready' });
    },
  });
  return created;
}

describe('createTree', () => {
  test.each([
    ['creates the workspaces in order, each once the one before is ready', [], all],
    ['continues after an interruption', ['main'], all],
    ['does not create a deleted workspace again', ['platform'], []],
  ])('%s', async (_what, existing, created) => {
    expect(await run(existing)).toEqual(created);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUUnit, gpuUnitKind, type Workspace, workspaceKind } from '@capstan/api';
import { type Client, isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { ControlPlane } from '../agents/control-plane.ts';

const project = 'load';
const longest = 60_000;
const pause = 20;

/** Creates the project `root:main:load`, and waits until it serves units. */
export async function makeProject({ platform }: ControlPlane): Promise<Client> {
  const workspaces = platform.cluster('root:main').resource<Workspace>(workspaceKind);
  const spec = { type: { name: 'project', path: 'root' } };
  const workspace: Workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: project }, spec };
  await until('projects can be created', async () => (await ignoring(workspaces.create(workspace), isNotFound, isForbidden)) !== undefined);
  const tenant = platform.cluster(`root:main:${project}`);
  await until('units are served', () =>
    tenant
      .resource<GPUUnit>(gpuUnitKind)
      .list()
      .then(
        () => true,
        () => false,
      ),
  );
  return tenant;
}

export async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (const began = performance.now(); !(await check()); await sleep(pause))
    if (performance.now() - began > longest) throw new Error(`waited in vain until ${what}`);
}

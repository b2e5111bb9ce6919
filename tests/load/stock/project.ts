import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUUnit, gpuUnitKind, type Workspace, workspaceKind } from '@capstan/api';
import { type Client, isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { ControlPlane } from '../agents/control-plane.ts';

const project = 'load';
const longest = 900_000;
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

/** A kubeconfig for that project. */
export function projectKubeconfig(plane: ControlPlane): string {
  const file = plane.directory.join('tenant.kubeconfig');
  const text = readFileSync(plane.kubeconfig, 'utf8');
  writeFileSync(file, text.replace(/(server: https:\/\/[^/\s]+)\S*/g, `$1/clusters/root:main:${project}`), { mode: 0o600 });
  return file;
}

export async function until(what: string, check: () => Promise<boolean>, every = pause): Promise<void> {
  for (const began = performance.now(); !(await check()); await sleep(every))
    if (performance.now() - began > longest) throw new Error(`waited in vain until ${what}`);
}

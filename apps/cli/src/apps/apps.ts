import {
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  appInstanceKind,
  appKind,
  appMemberKind,
  appOperationKind,
} from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { Failure } from '../failure.ts';
import type { OutputFormat } from '../output-format.ts';
import { type ConnectionFlags, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { onceServed } from '../workspaces/once-served.ts';

export interface AppFlags extends ConnectionFlags {
  readonly namespace?: string;
}

export interface AppOutputFlags extends AppFlags {
  readonly output?: OutputFormat;
}

/** The apps of a workspace: the catalog, and what is in one namespace. */
export interface Apps extends Disposable {
  readonly client: Client;
  readonly namespace: string;
  readonly catalog: Resource<App>;
  readonly instances: Resource<AppInstance>;
  readonly members: Resource<AppMember>;
  readonly operations: Resource<AppOperation>;
}

export function openApps(flags: AppFlags): Apps {
  const client = workspaceClient(flags);
  const namespace = flags.namespace ?? client.connection.namespace;
  return {
    client,
    namespace,
    catalog: client.resource<App>(appKind),
    instances: client.resource<AppInstance>(appInstanceKind).in(namespace),
    members: client.resource<AppMember>(appMemberKind).in(namespace),
    operations: client.resource<AppOperation>(appOperationKind).in(namespace),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** The answer of the server, or a Failure that says what to do: the object does not exist, or the workspace has no apps. */
export async function answered<T>({ client }: Apps, answer: Promise<T>, missing: string): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { name = '' } = error.status.details ?? {};
    if (name !== '') throw new Failure('usage', missing, error);
    const here = workspaceIn(client.connection.server) ?? 'root';
    throw new Failure('usage', `the workspace ${here} has no apps. Go to a project: capstan ws use root:main:default`, error);
  }
}

export const findInstance = (apps: Apps, name: string): Promise<AppInstance> =>
  answered(apps, apps.instances.get(name), `there is no app instance ${name} here; "capstan app list" lists all.`);

export const findApp = (apps: Apps, name: string): Promise<App> =>
  answered(
    apps,
    onceServed({ client: apps.client, kind: appKind }, () => apps.catalog.get(name)),
    `there is no app ${name}; "capstan app catalog" lists all.`,
  );

export async function membersOf(apps: Apps, instance: string): Promise<AppMember[]> {
  const { items } = await apps.members.list();
  return items.filter(({ spec }) => spec.instance === instance);
}

/** The operations of an instance, the oldest first. */
export async function operationsOf(apps: Apps, instance: string): Promise<AppOperation[]> {
  const { items } = await apps.operations.list();
  const began = ({ metadata }: AppOperation): string => metadata.creationTimestamp ?? '';
  return items
    .filter(({ spec }) => spec.instance === instance)
    .sort((one, other) => (one.status?.sequence ?? 0) - (other.status?.sequence ?? 0) || (began(one) < began(other) ? -1 : 1));
}

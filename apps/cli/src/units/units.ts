import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { ApiError, type Client, isNotFound, type Resource } from '@capstan/client';
import { Failure } from '../failure.ts';
import type { OutputFormat } from '../output-format.ts';
import { type ConnectionFlags, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { isServedBy } from '../workspaces/once-served.ts';

export interface UnitFlags extends ConnectionFlags {
  readonly namespace?: string;
}

export interface UnitOutputFlags extends UnitFlags {
  readonly output?: OutputFormat | 'name';
}

/** The units of one namespace, and the client for everything around them. */
export interface Units extends Disposable {
  readonly client: Client;
  readonly namespace: string;
  readonly resource: Resource<GPUUnit>;
}

/** The units of the namespace that the flags or the kubeconfig name. */
export function openUnits(flags: UnitFlags): Units {
  const client = workspaceClient(flags);
  const namespace = flags.namespace ?? client.connection.namespace;
  return {
    client,
    namespace,
    resource: client.resource<GPUUnit>(gpuUnitKind).in(namespace),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** The answer of the server, or a Failure that says what to do: the unit does not exist, or the workspace has none. */
export async function answered<T>({ client }: Units, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { name = '', kind = '' } = (error as ApiError).status.details ?? {};
    if (name !== '' && kind === gpuUnitKind.resource)
      throw new Failure('usage', `there is no unit ${name} here; "capstan ps --all" lists all.`, error);
    if (name !== '') throw error;
    throw new Failure('usage', await whereUnitsAre(client), error);
  }
}

/** The project that newcomers have. */
const firstProject = 'root:main:default';

/** Only projects and homes have units. */
async function whereUnitsAre(client: Client): Promise<string> {
  const here = workspaceIn(client.connection.server) ?? 'root';
  if (here === firstProject) return `the workspace ${here} has no units yet: it is being set up. Try again in a moment.`;
  const isServed = await isServedBy(client.cluster(firstProject), gpuUnitKind);
  return `the workspace ${here} has no units. Go to one that has: capstan ws use ${isServed ? firstProject : '~'}`;
}

export const findUnit = (units: Units, name: string): Promise<GPUUnit> => answered(units, units.resource.get(name));

const passing: ReadonlySet<string> = new Set(['ConnectionError', 'StreamLost', 'NodeAway']);

/** Whether trying again may help: the server restarts, or the network failed. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.code >= 500 || error.code === 429;
  return error instanceof Error && passing.has(error.name);
}

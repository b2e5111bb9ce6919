import { setTimeout as sleep } from 'node:timers/promises';
import { type LogicalCluster, logicalClusterKind, platformWorkspace, typeAnnotation } from '@capstan/api';
import { type ApiError, type Client, isForbidden, isNotFound, type ResourceType } from '@capstan/client';
import { Failure } from '../failure.ts';
import { workspaceIn } from './connection.ts';

export interface Patience {
  /** Called before each repetition. By default, says once why the command waits. */
  readonly onWait?: () => void;
  /** In milliseconds: for how long a request is repeated, and the pause before each time. */
  readonly patience?: number;
  readonly pause?: number;
}

/** The types whose workspaces get the kinds of products, some seconds after the first start of a server. */
const productTypes: ReadonlySet<string> = new Set(['root:project', 'root:home']);

/**
 * The answer to a request for a kind of a product. The platform installs these kinds some seconds after the first start, and then binds projects to them: until
 * then the request is repeated, and not at all in workspaces that never have the kind.
 */
export async function onceServed<T>(
  { client, kind }: { readonly client: Client; readonly kind: ResourceType },
  request: () => Promise<T>,
  { onWait = tellOnce(), patience = 20_000, pause = 500 }: Patience = {},
): Promise<T> {
  const end = Date.now() + patience;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      const cause = error instanceof Failure ? error.cause : error;
      if (Date.now() >= end || !(await isComing(client, kind, cause))) throw error;
    }
    onWait();
    await sleep(pause);
  }
}

/** The same for kinds of the platform's own workspace, with a Failure if they do not come. */
export async function onceInstalled<T>(
  { client, kind }: { readonly client: Client; readonly kind: ResourceType },
  request: () => Promise<T>,
  patience?: Patience,
): Promise<T> {
  try {
    return await onceServed({ client: client.cluster(platformWorkspace), kind }, request, patience);
  } catch (error) {
    if (!isMissingKind(error)) throw error;
    const message = `${kind.group} is not installed in ${platformWorkspace} yet. "capstan status" says how the platform is; try again later.`;
    throw new Failure('unexpected', message, error);
  }
}

/** Whether a kind is not served at all: the error names no object, or the platform's own workspace, which the first start of a server creates. */
export const isMissingKind = (error: unknown): boolean =>
  isNotFound(error) && ['', platformWorkspace].includes((error as ApiError).status.details?.name ?? '');

async function isComing(client: Client, kind: ResourceType, error: unknown): Promise<boolean> {
  if (workspaceIn(client.connection.server) === platformWorkspace) return isMissingKind(error);
  // Nobody has a right to a kind that is not there.
  const isMissing = isMissingKind(error) || (isForbidden(error) && !(await isServedBy(client, kind)));
  return isMissing && (await bindsProducts(client));
}

export function isServedBy(client: Client, kind: ResourceType): Promise<boolean> {
  const all = client.resource(kind);
  return (kind.namespaced ? all.in('default') : all).list({ limit: 1 }).then(
    () => true,
    () => false,
  );
}

const bindsProducts = (client: Client): Promise<boolean> =>
  client
    .resource<LogicalCluster>(logicalClusterKind)
    .get('cluster')
    .then(
      ({ metadata }) => productTypes.has(metadata.annotations?.[typeAnnotation] ?? ''),
      () => false,
    );

/** Says once why a command waits. */
export function tellOnce(): () => void {
  let isTold = false;
  return () => {
    if (!isTold) process.stderr.write('Waiting: the platform is being set up\n');
    isTold = true;
  };
}

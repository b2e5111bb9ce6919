import { unitContainer } from '@capstan/api';
import { ApiError, dialOptions } from '@capstan/client';
import { type CommandOptions, type StreamServer, UpgradeRefused } from '@capstan/streams';
import { userAgent } from '../../workspaces/connection.ts';
import type { Units } from '../units.ts';

/** The Pod that shows a unit. */
export interface UnitPod {
  readonly units: Pick<Units, 'client' | 'namespace'>;
  readonly name: string;
  /** The path of another object that gives shells, instead of that of a Pod. */
  readonly path?: string;
}

export function podPath({ units: { namespace }, name, path }: UnitPod, subresource: string): string {
  if (path !== undefined) return `${path}/${subresource}`;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/${subresource}`;
}

/** Where a stream to a container begins. */
export async function streamTo(pod: UnitPod, path: string, signal?: AbortSignal): Promise<StreamServer> {
  const { server, headers, tls } = await dialOptions(pod.units.client.connection, { userAgent });
  return { url: server + path, headers, tls, ...(signal && { signal }) };
}

export interface CommandQuery extends CommandOptions {
  readonly container?: string;
  /** Words of a command; none to attach. */
  readonly command?: readonly string[];
}

export function commandPath(pod: UnitPod, { container = unitContainer, command = [], ...options }: CommandQuery): string {
  const query = new URLSearchParams({ container });
  for (const [name, isWanted] of Object.entries(options)) if (isWanted) query.set(name, 'true');
  for (const word of command) query.append('command', word);
  return `${podPath(pod, command.length === 0 && pod.path === undefined ? 'attach' : 'exec')}?${query.toString()}`;
}

/** The server has no connection to the node: for a moment after either has restarted, or because the node is off. */
export class NodeAway extends Error {
  override readonly name = 'NodeAway';
}

/** The error of the server, if that is what kept a stream from beginning. */
export function refusalOf(error: unknown, pod: UnitPod): unknown {
  if (!(error instanceof UpgradeRefused)) return error;
  return explainedFor(ApiError.of(error.code, error.text), pod);
}

/** Kubernetes says that the Pod was not found also if it means the node. */
export function explainedFor(error: ApiError, { name }: UnitPod): Error {
  const missing = error.status.details?.name ?? name;
  return error.code === 404 && missing !== name ? new NodeAway(`the node ${missing} is not connected`, { cause: error }) : error;
}

import { Client, defaultConnection } from '@capstan/client';
import { Failure } from '../failure.ts';

/** The kubeconfig of a user command: the flag's, else the one that kubectl would use. */
export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export const userAgent = 'capstan';

/** A client for the workspace that the kubeconfig points to. */
export function workspaceClient({ kubeconfig, context }: ConnectionFlags): Client {
  try {
    const connection = defaultConnection({
      ...(kubeconfig !== undefined && { path: kubeconfig }),
      ...(context !== undefined && { context }),
    });
    return new Client(connection, { userAgent, onWarning: (warning) => void process.stderr.write(`Warning: ${warning}\n`) });
  } catch (error) {
    throw new Failure('usage', `${(error as Error).message}. Name a kubeconfig with --kubeconfig or in KUBECONFIG.`, error);
  }
}

/** The path or id of the workspace in a server's address; undefined if there is none, which means root. */
export function workspaceIn(server: string): string | undefined {
  return /\/clusters\/([^/]+)\/?$/.exec(server)?.[1];
}

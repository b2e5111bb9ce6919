import { ApiError, ConnectionError } from '@capstan/client/browser';
import type { Status } from '@capstan/machinery/objects';

/** An error for people: what happened, what the server said, and what to do. */
export interface Problem {
  readonly title: string;
  readonly detail?: string | undefined;
  readonly next: string;
  /** Whether the same request may succeed later, such as after somebody got a role. */
  readonly isRetriable: boolean;
}

export function problemOfStatus({ code, message, reason }: Pick<Status, 'code' | 'message' | 'reason'>, what: string): Problem {
  const detail = message ?? reason;
  switch (code) {
    case 401:
      return { title: 'Your session has ended', detail, next: 'Sign in again.', isRetriable: false };
    case 403:
      return {
        title: `You may not see ${what} here`,
        detail,
        next: 'Ask an administrator of the workspace for a role, or switch to another workspace.',
        isRetriable: true,
      };
    case 404:
      return {
        title: `This workspace has no ${what}`,
        detail,
        next: 'GPU units, apps, storages and allocations exist in projects and homes. Switch to one, or ask the owner of the platform to offer them here.',
        isRetriable: true,
      };
    case 429:
    case 503:
      return { title: 'The server is busy', detail, next: 'Wait a moment and try again.', isRetriable: true };
    default:
      return {
        title: `Could not read ${what}`,
        detail,
        next: 'Try again. If it stays, the owner of the platform finds more in the log of the server.',
        isRetriable: true,
      };
  }
}

export function problemOf(error: unknown, what: string): Problem {
  if (error instanceof ApiError) return problemOfStatus({ ...error.status, code: error.code }, what);
  if (error instanceof ConnectionError || error instanceof TypeError)
    return {
      title: 'The console does not answer',
      detail: error.message,
      next: 'Check that Capstan runs and that the network works, then try again.',
      isRetriable: true,
    };
  return {
    title: `Could not read ${what}`,
    detail: error instanceof Error ? error.message : String(error),
    next: 'Try again.',
    isRetriable: true,
  };
}

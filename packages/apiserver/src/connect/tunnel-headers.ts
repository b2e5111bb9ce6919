import type { RequestContext } from '../registry/context.ts';

/** Tells a node who asked. Names may have characters that headers may not. */
export function tunnelHeaders({ user }: RequestContext): Record<string, string> {
  return { 'capstan-user': encodeURIComponent(user.name.toWellFormed()) };
}

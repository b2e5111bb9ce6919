import { appMemberKind } from '@capstan/api';
import { listPath, type Place } from '../kube/client.ts';
import { podKind } from '../kube/core-kinds.ts';

/** A shell with lines of history where there is one. */
const shell = ['sh', '-c', 'command -v bash > /dev/null && exec bash || exec sh'];

const streams = { stdin: 'true', stdout: 'true', tty: 'true' };

/** A shell in the container of a Pod. */
export function podShellPath({ pod, container, ...place }: Place & { readonly pod: string; readonly container: string }): string {
  const query = new URLSearchParams({ container, ...streams });
  for (const word of shell) query.append('command', word);
  return `/kube${listPath(podKind, place)}/${encodeURIComponent(pod)}/exec?${query}`;
}

/** The login shell of the person on a member of an app. */
export function memberShellPath({ member, ...place }: Place & { readonly member: string }): string {
  return `/kube${listPath(appMemberKind, place)}/${encodeURIComponent(member)}/exec?${new URLSearchParams(streams)}`;
}

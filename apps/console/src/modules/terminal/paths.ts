import { appMemberKind } from '@capstan/api';
import { listPath, type Place } from '../kube/client.ts';
import { podKind } from '../kube/core-kinds.ts';

/** A shell with lines of history where there is one. */
const shell = ['sh', '-c', 'command -v bash > /dev/null && exec bash || exec sh'];

const streams = { stdin: 'true', stdout: 'true', tty: 'true' };

export interface ContainerPlace extends Place {
  readonly pod: string;
  readonly container: string;
}

/** A shell in the container of a Pod. */
export const podShellPath = (place: ContainerPlace): string => execPath(place, streams, shell);

/** A command in the container of a Pod, without a terminal. */
export const podCommandPath = (
  place: ContainerPlace,
  { command, hasInput }: { readonly command: readonly string[]; readonly hasInput: boolean },
): string => execPath(place, { ...(hasInput && { stdin: 'true' }), stdout: 'true', stderr: 'true' }, command);

function execPath(
  { pod, container, ...place }: ContainerPlace,
  used: Readonly<Record<string, string>>,
  command: readonly string[],
): string {
  const query = new URLSearchParams({ container, ...used });
  for (const word of command) query.append('command', word);
  return `/kube${listPath(podKind, place)}/${encodeURIComponent(pod)}/exec?${query}`;
}

/** The login shell of the person on a member of an app. */
export function memberShellPath({ member, ...place }: Place & { readonly member: string }): string {
  return `/kube${listPath(appMemberKind, place)}/${encodeURIComponent(member)}/exec?${new URLSearchParams(streams)}`;
}

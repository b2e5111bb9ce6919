import { appOperationKind, nodeNamespace, nodeTaskKind, platformWorkspace } from '@capstan/api';

/** How many lines at the end of an output are read at first. */
const firstLines = 5000;

interface Output {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
}

interface PodOutput extends Output {
  readonly container: string;
  /** The output before the last restart, which has ended. */
  readonly previous: boolean;
}

/** The output of a Pod: the last lines, or those since a time. */
export function podLogPath({ workspace, namespace, name, container, previous }: PodOutput, since: string): string {
  const query = new URLSearchParams({ container, timestamps: 'true', ...(previous ? { previous: 'true' } : { follow: 'true' }) });
  if (since === '') query.set('tailLines', String(firstLines));
  else query.set('sinceTime', `${since.slice(0, 19)}Z`);
  return `/clusters/${workspace}/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`;
}

/** The output of a step of an operation. */
export function stepLogPath({ workspace, namespace, name, step }: Output & { readonly step: string }): string {
  const { group, version, resource } = appOperationKind;
  const query = new URLSearchParams({ step, follow: 'true', tailLines: String(firstLines) });
  return `/clusters/${workspace}/apis/${group}/${version}/namespaces/${namespace}/${resource}/${name}/log?${query}`;
}

/** The output of a task of a node. */
export function taskLogPath({ node, task }: { readonly node: string; readonly task: string }): string {
  const { group, version, resource } = nodeTaskKind;
  const query = new URLSearchParams({ follow: 'true', tailLines: String(firstLines) });
  return `/clusters/${platformWorkspace}/apis/${group}/${version}/namespaces/${nodeNamespace(node)}/${resource}/${task}/log?${query}`;
}

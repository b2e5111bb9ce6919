import type { ResourceType } from '@capstan/client/browser';
import type { KubeObject } from '@capstan/machinery/objects';
import { kubeClient, listPath } from '../kube/client.ts';

/** A list as kubectl prints it. */
export interface KubeTable {
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly priority?: number;
    readonly description?: string;
  }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: KubeObject }[];
}

/** Larger lists are cut: people search in them with kubectl. */
export const mostRows = 10_000;

export function readTable(workspace: string, type: ResourceType): Promise<KubeTable> {
  const prefix = `/clusters/${workspace}`;
  return kubeClient(workspace).json<KubeTable>({
    method: 'GET',
    path: `${listPath(type, { workspace }).slice(prefix.length)}?limit=${mostRows}&includeObject=Metadata`,
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json' },
  });
}

/** Whether a column says how old objects are. The server prints that once, so the page counts on from the time of creation. */
export const isAge = ({ name, type }: KubeTable['columnDefinitions'][number]): boolean =>
  name === 'Age' && (type === 'date' || type === 'string');

/** A cell as text: numbers stay numbers, so that they sort. */
export function cellValue(cell: unknown): string | number | undefined {
  if (cell === null || cell === undefined || cell === '') return undefined;
  return typeof cell === 'number' || typeof cell === 'string' ? cell : JSON.stringify(cell);
}

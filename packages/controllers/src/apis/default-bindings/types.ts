import { type WorkspaceType, workspaceTypeKind } from '@capstan/api';
import type { Informer, InformerFactory } from '@capstan/client';
import { keysOfType, typeKey } from './maintained.ts';

const byName = 'name';

/** Local copies of the WorkspaceTypes in all workspaces. */
export class WorkspaceTypes {
  readonly #held: Informer<WorkspaceType>;

  constructor(informers: InformerFactory) {
    this.#held = informers.informer<WorkspaceType>(workspaceTypeKind);
    this.#held.addIndex(byName, keysOfType);
  }

  list(): readonly WorkspaceType[] {
    return this.#held.list();
  }

  /** By the path or id of its workspace, and its name. */
  readonly find = (path: string, name: string): WorkspaceType | undefined => this.#held.byIndex(byName, typeKey(path, name))[0];
}

import type { Informer, InformerFactory } from '@capstan/client';
import { type WorkspaceTypeObject, workspaceTypeType } from '../../tenancy/kinds.ts';
import { keysOfType, typeKey } from './maintained.ts';

const byName = 'name';

/** Local copies of the WorkspaceTypes in all workspaces. */
export class WorkspaceTypes {
  readonly #held: Informer<WorkspaceTypeObject>;

  constructor(informers: InformerFactory) {
    this.#held = informers.informer<WorkspaceTypeObject>(workspaceTypeType);
    this.#held.addIndex(byName, keysOfType);
  }

  list(): readonly WorkspaceTypeObject[] {
    return this.#held.list();
  }

  /** By the path or id of its workspace, and its name. */
  readonly find = (path: string, name: string): WorkspaceTypeObject | undefined => this.#held.byIndex(byName, typeKey(path, name))[0];
}

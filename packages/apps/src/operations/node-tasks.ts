import { type AppInstance, type AppOperation, type NodeTask, nodeNamespace, nodeTaskKind } from '@capstan/api';
import { ApiError, type Client, isAlreadyExists, isConflict, isNotFound, type ResourceType } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { formatTime, type JsonObject, type KubeObject } from '@capstan/machinery';
import { type KeptValues, secretKind } from '../keeping/kept-values.ts';
import { taskFor } from './making.ts';
import type { Start } from './scene.ts';

interface NodeTasksOptions {
  readonly platform: Client;
  readonly wrote: (object: KubeObject, type: ResourceType) => void;
  readonly now: () => number;
}

const taskKey = ({ metadata }: NodeTask): string => `${metadata.namespace}/${metadata.name}`;

/** The tasks of an instance: the local copy, with the answers to its own writes. */
export class NodeTasks {
  readonly #options: NodeTasksOptions;
  readonly #tasks: Map<string, NodeTask>;
  /** Names of tasks that the server does not have. */
  readonly absent = new Set<string>();

  constructor(tasks: readonly NodeTask[], options: NodeTasksOptions) {
    this.#options = options;
    this.#tasks = new Map(tasks.map((one) => [taskKey(one), one]));
  }

  get(node: string, name: string): NodeTask | undefined {
    return this.#tasks.get(`${nodeNamespace(node)}/${name}`);
  }

  all(): NodeTask[] {
    return [...this.#tasks.values()];
  }

  async look(node: string, name: string): Promise<void> {
    const found = await ignoring(this.#in(nodeNamespace(node)).get(name), isNotFound);
    if (found === undefined) this.absent.add(name);
    else this.#wrote(found);
  }

  /** Creates the task of an attempt, after the Secret that it needs. */
  async start(
    start: Start,
    place: { readonly instance: AppInstance; readonly operation: AppOperation; readonly values: KeptValues },
  ): Promise<void> {
    const { task, secret } = taskFor(start, place);
    if (secret !== undefined) await ignoring(this.#secrets(secret.metadata.namespace).create(secret), isAlreadyExists);
    await this.create(task);
  }

  async create(task: NodeTask): Promise<void> {
    const { namespace, name = '' } = task.metadata;
    const resource = this.#in(namespace);
    try {
      // It has the same content: nothing else makes this name.
      this.#wrote((await ignoring(resource.create(task), isAlreadyExists)) ?? (await resource.get(name)));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 422) throw error;
      // The server does not take it, now or later: it counts as a task that has failed.
      const failure = { code: 'InvalidTask', message: error.message.slice(0, 4096), userFixable: false, retryable: false };
      const finishedAt = formatTime(new Date(this.#options.now()));
      this.#tasks.set(taskKey(task), {
        ...task,
        spec: { ...task.spec, attempt: 1 },
        status: { phase: 'Failed', attempt: 1, finishedAt, error: failure },
      });
    }
  }

  async patch(task: NodeTask, spec: Partial<Pick<NodeTask['spec'], 'cancelled' | 'attempt' | 'processRun'>>): Promise<void> {
    const { namespace, name = '', resourceVersion = '' } = task.metadata;
    const patch = { metadata: { resourceVersion }, spec: spec as JsonObject };
    const patched = await ignoring(this.#in(namespace).patch(name, { type: 'merge', patch }), isNotFound, isConflict);
    if (patched !== undefined) this.#wrote(patched);
    // Somebody else was faster; the next reconcile sees it.
    else this.#tasks.set(taskKey(task), { ...task, spec: { ...task.spec, ...spec } });
  }

  async delete(task: NodeTask): Promise<void> {
    const { namespace, name = '' } = task.metadata;
    if (task.spec.secret !== undefined) await ignoring(this.#secrets(namespace).delete(task.spec.secret), isNotFound);
    await ignoring(this.#in(namespace).delete(name), isNotFound);
    this.#tasks.delete(taskKey(task));
  }

  #in(namespace: string | undefined) {
    return this.#options.platform.resource<NodeTask>(nodeTaskKind).in(namespace);
  }

  #secrets(namespace: string | undefined) {
    return this.#options.platform.resource(secretKind).in(namespace);
  }

  #wrote(task: NodeTask): void {
    this.#options.wrote(task, nodeTaskKind);
    this.#tasks.set(taskKey(task), task);
  }
}

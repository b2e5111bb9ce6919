import {
  type AppInstance,
  type AppMember,
  type AppOperation,
  appInstanceKind,
  appMemberKind,
  appOperationKind,
  newObject,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery/objects';
import type { ControlPlane } from './control-plane.ts';
import { eventually } from './eventually.ts';

const namespace = 'default';

/** An operation, of the instance or of one member. */
export interface Action {
  readonly member?: string | undefined;
}

/** The tenant of the project, with instances of apps. Requests are repeated while servers are down. */
export class Tenant {
  readonly #plane: ControlPlane;

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  instances() {
    return this.#plane.tenant.resource<AppInstance>(appInstanceKind).in(namespace);
  }

  operations() {
    return this.#plane.tenant.resource<AppOperation>(appOperationKind).in(namespace);
  }

  async create(name: string, spec: JsonObject): Promise<void> {
    const object = newObject(appInstanceKind, { metadata: { name, namespace }, spec } as never) as AppInstance;
    await eventually(`the instance ${name}`, () => this.instances().create(object));
  }

  async change(name: string, spec: JsonObject): Promise<void> {
    await eventually(`the change of ${name}`, () => this.instances().patch(name, { type: 'merge', patch: { spec } }));
  }

  async delete(name: string): Promise<void> {
    await eventually(`the deletion of ${name}`, () => this.instances().delete(name));
  }

  /** Undefined if it is gone. */
  async find(name: string): Promise<AppInstance | undefined> {
    try {
      return await this.instances().get(name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Asks for another operation, such as `retry`. */
  async ask(instance: string, type: string, { member }: Action = {}): Promise<void> {
    const metadata = { generateName: `${type}-`, namespace };
    const spec = { instance, type, ...(member !== undefined && { member }) };
    const object = newObject(appOperationKind, { metadata, spec } as never) as AppOperation;
    await eventually(`the ${type}`, () => this.operations().create(object));
  }

  /** The last operation of a type after those with this sequence. */
  async operation(instance: string, type: string, after = 0): Promise<AppOperation | undefined> {
    const { items } = await this.operations().list();
    const found = items.filter(({ spec, status }) => spec.instance === instance && spec.type === type && sequenceOf(status) > after);
    return found.toSorted((one, other) => sequenceOf(one.status) - sequenceOf(other.status)).at(-1);
  }

  /** The sequence of the last operation that there is. */
  async lastSequence(instance: string): Promise<number> {
    const { items } = await eventually('the operations', () => this.operations().list());
    return Math.max(0, ...items.filter(({ spec }) => spec.instance === instance).map(({ status }) => sequenceOf(status)));
  }

  /** The allocation of each member. */
  async allocations(): Promise<ReadonlyMap<string, string>> {
    const { items } = await eventually('the members', () => this.#plane.tenant.resource<AppMember>(appMemberKind).in(namespace).list());
    return new Map(items.map(({ metadata, spec }) => [metadata.name ?? '', spec.allocation]));
  }
}

/** Operations get theirs when the platform adopts them. */
const sequenceOf = (status: AppOperation['status']): number => status?.sequence ?? 0;

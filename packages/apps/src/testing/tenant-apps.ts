import {
  type Allocation,
  type AppInstance,
  type AppMember,
  type AppOperation,
  allocationKind,
  appInstanceKind,
  appMemberKind,
  appOperationKind,
  newObject,
} from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';

/** The apps of a tenant, for tests. */
export class TenantApps {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  instances() {
    return this.client.resource<AppInstance>(appInstanceKind).in('default');
  }

  operations() {
    return this.client.resource<AppOperation>(appOperationKind).in('default');
  }

  allocations() {
    return this.client.resource<Allocation>(allocationKind).in('default');
  }

  /** Orders a whole node of a pool. */
  async allocate(name: string, pool: string): Promise<void> {
    await this.allocations().create(
      newObject(allocationKind, { metadata: { name, namespace: 'default' }, spec: { offering: pool } }) as Allocation,
    );
  }

  create(name: string, spec: AppInstance['spec'] | JsonObject): Promise<AppInstance> {
    return this.instances().create(
      newObject(appInstanceKind, { metadata: { name, namespace: 'default' }, spec: spec as never }) as AppInstance,
    );
  }

  change(name: string, spec: JsonObject): Promise<AppInstance> {
    return this.instances().patch(name, { type: 'merge', patch: { spec } });
  }

  get(name: string): Promise<AppInstance> {
    return this.instances().get(name);
  }

  async isGone(name: string): Promise<boolean> {
    return (await ignoring(this.instances().get(name), isNotFound)) === undefined;
  }

  async members(instance: string): Promise<AppMember[]> {
    const { items } = await this.client.resource<AppMember>(appMemberKind).in('default').list();
    return items
      .filter(({ spec }) => spec.instance === instance)
      .toSorted((one, other) => (one.spec.allocation < other.spec.allocation ? -1 : 1));
  }

  async operationsOf(instance: string): Promise<AppOperation[]> {
    const { items } = await this.operations().list();
    return items.filter(({ spec }) => spec.instance === instance);
  }

  /** Begins an operation. */
  async ask(instance: string, type: string, more: JsonObject = {}): Promise<AppOperation> {
    const name = `${type}-${Math.random().toString(36).slice(2, 8)}`;
    const object = newObject(appOperationKind, { metadata: { name, namespace: 'default' }, spec: { instance, type, ...more } as never });
    return this.operations().create(object as AppOperation);
  }
}

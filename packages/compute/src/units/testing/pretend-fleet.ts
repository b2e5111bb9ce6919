import {
  type Allocation,
  allocationKind,
  type GPUNode,
  type GPUUnit,
  gpuNodeKind,
  gpuUnitKind,
  type NodeUnit,
  type NodeUnitStatus,
  newObject,
  nodeNamespace,
  nodeUnitKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

/** A fleet for tests, without machines: nodes, and agents that do what a test says. */
export class PretendFleet {
  readonly #platform: Client;

  constructor(platform: Client) {
    this.#platform = platform;
  }

  nodes() {
    return this.#platform.resource<GPUNode>(gpuNodeKind);
  }

  nodeUnits(node?: string) {
    return this.#platform.resource<NodeUnit>(nodeUnitKind).in(node === undefined ? undefined : nodeNamespace(node));
  }

  /** Nodes `<pool>-0`, `<pool>-1`…, and an offering with the name of the pool. */
  async makePool(
    pool: string,
    { nodes = 1, gpus = 8, exclusive = false }: { nodes?: number; gpus?: number; exclusive?: boolean } = {},
  ): Promise<void> {
    for (let number = 0; number < nodes; number++)
      await this.makeNode(`${pool}-${number}`, { pool, gpus, address: `10.0.0.${number + 1}` });
    const spec = exclusive ? { exclusive, pools: [pool] } : { gpu: { model: 'H100', count: 1 }, cpu: '2', memory: '4Gi', pools: [pool] };
    await this.#platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: pool }, spec }) as Offering);
  }

  async makeNode(name: string, { pool, gpus, address }: { pool: string; gpus: number; address: string }): Promise<void> {
    await this.nodes().create(newObject(gpuNodeKind, { metadata: { name }, spec: { pool } }));
    await this.#platform.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: nodeNamespace(name) } });
    const now = '2026-01-01T00:00:00Z';
    const status = {
      machine: { hostname: name, cpus: 64, memoryBytes: 2 ** 40, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
      gpus: Array.from({ length: gpus }, (_, index) => ({
        uuid: `${name}-gpu-${index}`,
        model: 'H100',
        memoryBytes: 80 * 2 ** 30,
        health: { state: 'Healthy', reason: 'Healthy', message: '', since: now },
      })),
      addresses: [{ interface: 'eth0', address }],
      conditions: [{ type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: now }],
    };
    await this.nodes().patch(name, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
  }

  /** Sets the condition `Ready`. */
  async ready(node: string, status: 'True' | 'Unknown'): Promise<void> {
    const condition = {
      type: 'Ready',
      status,
      reason: status === 'True' ? 'Heartbeat' : 'Silent',
      message: '',
      lastTransitionTime: '2026-01-02T00:00:00Z',
    };
    await this.nodes().patch(node, { type: 'merge', patch: { status: { conditions: [condition] } } }, { subresource: 'status' });
  }

  /** Reports for the agent of a node. */
  async report(nodeUnit: NodeUnit, status: Partial<NodeUnitStatus>): Promise<NodeUnit> {
    const { name = '', namespace } = nodeUnit.metadata;
    return this.nodeUnits().patch(
      { name, namespace },
      { type: 'merge', patch: { status } as unknown as JsonObject },
      { subresource: 'status' },
    );
  }

  /** The NodeUnits of a unit, sorted by their start and rank. */
  async of({ metadata: { uid } }: GPUUnit): Promise<NodeUnit[]> {
    const { items } = await this.nodeUnits().list();
    return items
      .filter(({ spec }) => spec.owner.uid === uid)
      .toSorted((one, other) => one.spec.run - other.spec.run || one.spec.rank - other.spec.rank);
  }
}

/** The units of a tenant. */
export class TenantUnits {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  units() {
    return this.client.resource<GPUUnit>(gpuUnitKind).in('default');
  }

  allocations() {
    return this.client.resource<Allocation>(allocationKind).in('default');
  }

  create(name: string, spec: Partial<GPUUnit['spec']>): Promise<GPUUnit> {
    const object = newObject(gpuUnitKind, { metadata: { name, namespace: 'default' }, spec: { command: ['true'], ...spec } });
    return this.units().create(object as GPUUnit);
  }

  change(name: string, spec: Partial<GPUUnit['spec']>): Promise<GPUUnit> {
    return this.units().patch(name, { type: 'merge', patch: { spec } as unknown as JsonObject });
  }

  async isGone(name: string): Promise<boolean> {
    return (await ignoring(this.units().get(name), isNotFound)) === undefined;
  }

  async allocationsOf({ metadata: { uid } }: GPUUnit): Promise<Allocation[]> {
    const { items } = await this.allocations().list();
    return items.filter(({ metadata }) => metadata.ownerReferences?.some((one) => one.uid === uid));
  }
}

import { type GPUStorage, gpuStorageKind, type NodeVolume, nodeNamespace, nodeVolumeKind } from '@capstan/api';
import { type Client, clusterOf, isAlreadyExists, isNotFound, objectKey, type ResourceType } from '@capstan/client';
import { addFinalizer, type EventRecorder, ignoring, patchStatus, removeFinalizer } from '@capstan/controller';
import type { QuotaGate } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { mountingUnits } from '../units/mounts.ts';
import { type Copies, siblingKey, volumesFor } from './copies.ts';
import { type Step, storageFinalizer } from './decide.ts';
import { countedVolume, storageAmount } from './quota.ts';
import type { Scene } from './scene.ts';
import { sharingNodes } from './sharing.ts';
import type { StorageUsage } from './usage.ts';

export interface WorkOptions {
  readonly copies: Copies;
  /** In the workspace of the storage. */
  readonly client: Client;
  /** In root:platform. */
  readonly platform: Client;
  readonly events: EventRecorder;
  readonly wrote: (object: KubeObject, type?: Pick<ResourceType, 'group' | 'resource'>) => void;
  readonly now: () => number;
  /** The path of the workspace, if it is known. */
  readonly path: string | undefined;
  readonly quota: QuotaGate;
  readonly usage: Pick<StorageUsage, 'keep' | 'end'>;
}

/** One reconcile of a storage: the copies, with the answers to its own writes. */
export class Work {
  readonly #options: WorkOptions;
  #storage: GPUStorage;
  readonly #volumes: Map<string, NodeVolume>;
  #isAbsent = false;
  #isRefused = false;

  constructor(storage: GPUStorage, options: WorkOptions) {
    this.#options = options;
    this.#storage = storage;
    this.#volumes = new Map(volumesFor(options.copies.volumes, objectKey(storage)).map((one) => [keyOf(one), one]));
  }

  /** Tells the ledger the sizes of its volumes. */
  async account(): Promise<void> {
    for (const volume of this.#volumes.values()) await this.#options.usage.keep(volume);
  }

  scene(): Scene {
    const { copies, now, path } = this.#options;
    const storage = this.#storage;
    const age = ({ metadata }: KubeObject): string => `${metadata.creationTimestamp} ${metadata.uid}`;
    return {
      storage,
      now: now(),
      units: mountingUnits(copies.units, objectKey(storage)).toSorted((one, other) => (age(one) < age(other) ? -1 : 1)),
      allocation: (unit) => {
        const { allocation } = unit.status ?? {};
        return allocation === undefined ? undefined : copies.allocations.get(siblingKey(unit, allocation));
      },
      volumes: [...this.#volumes.values()],
      node: (name) => copies.nodes.get({ name }),
      path,
      refusal: (bytes, isNow) => this.#refusal(bytes, isNow),
      sharing: () => sharingNodes(copies.nodes.list()),
      sibling: (name) => copies.storages.get(siblingKey(storage, name)),
      isAbsent: this.#isAbsent,
    };
  }

  /** Whether a limit was in the way. Nobody says when there is room again. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  #refusal(bytes: number, isNow: boolean): string | undefined {
    const { copies, quota, path } = this.#options;
    const { status, metadata } = this.#storage;
    const place = { id: status?.volume ?? metadata.uid ?? '', path: path ?? clusterOf(this.#storage) ?? '' };
    const asked = { ...place, amount: storageAmount(bytes) };
    const state = { quotas: copies.quotas.list().map(({ spec }) => spec), counted: () => copies.volumes.list().map(countedVolume) };
    const refusal = isNow ? quota.admit(asked, state) : quota.refusal(asked, state);
    this.#isRefused ||= refusal !== undefined;
    return refusal;
  }

  /** Does what was decided. Errors are thrown: the next reconcile decides again. */
  async perform(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    switch (step.kind) {
      case 'protect':
        return this.#wroteStorage(await addFinalizer(this.#storages(), this.#storage, storageFinalizer));
      case 'letGo':
        this.#options.quota.forget(this.#storage.status?.volume ?? this.#storage.metadata.uid ?? '');
        return this.#wroteStorage(await removeFinalizer(this.#storages(), this.#storage, storageFinalizer));
      case 'status': {
        const before = this.#storage;
        this.#wroteStorage(await patchStatus(this.#storages(), before, step.status));
        const { phase, message = '' } = step.status;
        if (phase !== before.status?.phase && (phase === 'Ready' || phase === 'Failed'))
          this.#options.events.record(before, { type: phase === 'Ready' ? 'Normal' : 'Warning', reason: phase, message });
        return;
      }
      case 'look': {
        const found = await ignoring(this.#nodeVolumes(nodeNamespace(step.node)).get(step.volume), isNotFound);
        if (found === undefined) this.#isAbsent = true;
        else this.#wroteVolume(found);
        return;
      }
      case 'create': {
        const { namespace, name = '' } = step.volume.metadata;
        const resource = this.#nodeVolumes(namespace);
        return this.#wroteVolume((await ignoring(resource.create(step.volume), isAlreadyExists)) ?? (await resource.get(name)));
      }
      case 'change': {
        const { namespace, name = '', uid } = step.volume.metadata;
        if (step.spec['deleted'] === true) await this.#options.usage.end(step.volume);
        const patch = { metadata: { uid: uid ?? '' }, spec: step.spec };
        return this.#wroteVolume(await this.#nodeVolumes(namespace).patch(name, { type: 'merge', patch }));
      }
      case 'remove': {
        const { namespace, name = '', uid = '' } = step.volume.metadata;
        await ignoring(this.#nodeVolumes(namespace).delete(name, { preconditions: { uid } }), isNotFound);
        this.#volumes.delete(keyOf(step.volume));
        this.#options.quota.forget(name);
        this.#isAbsent = true;
      }
    }
  }

  #storages() {
    return this.#options.client.resource<GPUStorage>(gpuStorageKind).in(this.#storage.metadata.namespace);
  }

  #nodeVolumes(namespace: string | undefined) {
    return this.#options.platform.resource<NodeVolume>(nodeVolumeKind).in(namespace);
  }

  #wroteStorage(storage: GPUStorage): void {
    if (storage !== this.#storage) this.#options.wrote(storage);
    this.#storage = storage;
  }

  #wroteVolume(volume: NodeVolume): void {
    this.#options.wrote(volume, nodeVolumeKind);
    this.#volumes.set(keyOf(volume), volume);
  }
}

function keyOf({ metadata: { namespace = '', name = '' } }: NodeVolume): string {
  return `${namespace}/${name}`;
}

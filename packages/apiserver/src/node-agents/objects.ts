import {
  type ClusterId,
  type GPUNode,
  gpuNodeKind,
  type KindReference,
  type NodeEnrollment,
  type NodeIdentityStatus,
  type NodeRefusal,
  nodeEnrollmentKind,
  nodeNamespace,
} from '@capstan/api';
import { type KubeObject, StatusError } from '@capstan/machinery';
import type { Serving } from '../handlers/serving.ts';
import { create } from '../registry/create.ts';
import { deleteObject } from '../registry/delete.ts';
import { cachedEntry } from '../registry/objects.ts';
import type { Resource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { serverContext } from '../upkeep/context.ts';
import { refused } from './refusal.ts';

const manager = 'capstan-apiserver';
const eventKind: KindReference = { group: '', version: 'v1', resource: 'events', namespaced: true, kind: 'Event' };

export interface Warning {
  readonly reason: NodeRefusal;
  readonly message: string;
}

/** Reads and writes the objects of nodes in the workspace of the platform. */
export class NodeObjects {
  readonly #serving: Serving;
  readonly #platform: () => ClusterId | undefined;
  readonly #now: () => Date;

  constructor(serving: Serving, { platform, now }: { readonly platform: () => ClusterId | undefined; readonly now: () => Date }) {
    this.#serving = serving;
    this.#platform = platform;
    this.#now = now;
  }

  /** The UID of the GPUNode, which is created if it does not exist. */
  async ensureNode(node: string): Promise<string> {
    const { resource, context } = this.#kind(gpuNodeKind, node);
    const existing = cachedEntry(this.#serving, context, { resource, namespace: '', name: node });
    if (existing !== undefined) return (existing.parse().metadata.uid ??= '');
    const object = { apiVersion: `${gpuNodeKind.group}/${gpuNodeKind.version}`, kind: gpuNodeKind.kind, metadata: { name: node } };
    try {
      const { entry } = await create(this.#serving, context, { resource, namespace: '', object, manager, dryRun: false });
      return entry.parse().metadata.uid!;
    } catch (error) {
      if (!isAlreadyThere(error)) throw error;
      // Another server was faster, and this one has not seen it yet.
      throw refused('NamespaceBusy', node, 'two requests at once');
    }
  }

  /** Creates the namespace of a node. It belongs to the GPUNode and is deleted with it. */
  async ensureNamespace(node: string, uid: string): Promise<void> {
    const { resource, context } = this.#kind(
      { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' },
      node,
    );
    const name = nodeNamespace(node);
    const existing = cachedEntry(this.#serving, context, { resource, namespace: '', name })?.parse();
    if (existing !== undefined) {
      const isOwn = existing.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
      if (existing.metadata.deletionTimestamp !== undefined || !isOwn) throw refused('NamespaceBusy', node);
      return;
    }
    const owner = { apiVersion: `${gpuNodeKind.group}/${gpuNodeKind.version}`, kind: gpuNodeKind.kind, name: node, uid };
    const object: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ownerReferences: [owner] } };
    try {
      await create(this.#serving, context, { resource, namespace: '', object, manager, dryRun: false });
    } catch (error) {
      if (!isAlreadyThere(error)) throw error;
    }
  }

  async deleteEnrollment({ metadata: { name = '', uid }, spec: { node } }: NodeEnrollment): Promise<void> {
    const { resource, context } = this.#kind(nodeEnrollmentKind, node);
    const options = { preconditions: { ...(uid !== undefined && { uid }) } };
    try {
      await deleteObject(this.#serving, context, { resource, namespace: '', name, options, dryRun: false });
    } catch (error) {
      // Somebody else was faster.
      if (!(error instanceof StatusError) || (error.reason !== 'NotFound' && error.reason !== 'Conflict')) throw error;
    }
  }

  /** Writes a warning about a GPUNode for people who describe it. */
  async warn({ node, uid }: { readonly node: string; readonly uid: string }, { reason, message }: Warning): Promise<void> {
    const { resource, context } = this.#kind(eventKind, node);
    const now = this.#now();
    const time = `${now.toISOString().slice(0, 19)}Z`;
    // Events about objects without a namespace are in this one.
    const namespace = 'default';
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: eventKind.kind,
      metadata: { name: `${node}.${now.getTime().toString(16)}`, namespace },
      involvedObject: { apiVersion: `${gpuNodeKind.group}/${gpuNodeKind.version}`, kind: gpuNodeKind.kind, name: node, uid },
      type: 'Warning',
      reason,
      message,
      source: { component: manager },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    await create(this.#serving, context, { resource, namespace, object, manager, dryRun: false });
  }

  /** Changes the status of an enrolment. `change` is called again after a conflict. */
  async changeEnrollment(
    { metadata: { name = '' }, spec: { node } }: NodeEnrollment,
    change: (enrollment: NodeEnrollment) => NodeEnrollment['status'],
  ): Promise<void> {
    await this.#changeStatus(nodeEnrollmentKind, { name, node }, (old) => change(old as NodeEnrollment) ?? {});
  }

  /** Changes the identity of the GPUNode with this UID. `change` is called again after a conflict. */
  async changeIdentity(
    { node, uid }: { readonly node: string; readonly uid: string },
    change: (identity: NodeIdentityStatus | undefined) => NodeIdentityStatus | undefined,
  ): Promise<void> {
    try {
      await this.#changeStatus(gpuNodeKind, { name: node, node }, (old) => {
        const { metadata, status } = old as GPUNode;
        if (metadata.uid !== uid || metadata.deletionTimestamp !== undefined) throw refused('NodeRemoved', node);
        const identity = change(status?.identity);
        return { ...status, ...(identity !== undefined && { identity }) };
      });
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'NotFound') throw refused('NodeRemoved', node);
      throw error;
    }
  }

  async #changeStatus(
    kind: KindReference,
    { name, node }: { name: string; node: string },
    change: (old: KubeObject) => object,
  ): Promise<void> {
    const { resource, context } = this.#kind(kind, node);
    await update(this.#serving, context, {
      resource,
      namespace: '',
      name,
      subresource: 'status',
      manager,
      dryRun: false,
      change: (old) => ({ object: { ...old, status: change(old) } }),
    });
  }

  #kind({ group, version, resource }: KindReference, node: string): { resource: Resource; context: ReturnType<typeof serverContext> } {
    const cluster = this.#platform();
    const found = cluster === undefined ? undefined : this.#serving.catalogs.of(cluster).resource(group, version, resource);
    if (cluster === undefined || found === undefined) throw refused('NotInstalled', node);
    return { resource: found, context: serverContext({ cluster, objects: this.#serving.cache, now: this.#now }) };
  }
}

function isAlreadyThere(error: unknown): boolean {
  return error instanceof StatusError && error.reason === 'AlreadyExists';
}

import { clusterOf } from '@capstan/client';
import type { KubeObject, OwnerReference } from '@capstan/machinery';

/** A reference that makes `owner` the controller of the object that has it: it is deleted with its owner. */
export function ownerReferenceTo(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  if (metadata.name === undefined || metadata.uid === undefined) {
    throw new TypeError(`expected an owner that the server knows, got a ${kind} without name or uid; create it first`);
  }
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** The object with `owner` as its controller. Throws if it has another one, or if the owner is in another namespace or workspace. */
export function withController<T extends KubeObject>(object: T, owner: KubeObject): T {
  const reference = ownerReferenceTo(owner);
  const current = controllerOf(object);
  if (current !== undefined && current.uid !== reference.uid) {
    throw new Error(
      `${object.kind} "${object.metadata.name}" is controlled by ${current.kind} "${current.name}" already; it can have one controller`,
    );
  }
  const [here, there] = [clusterOf(object), clusterOf(owner)];
  if (here !== undefined && there !== undefined && here !== there) {
    throw new Error(
      `${owner.kind} "${owner.metadata.name}" in workspace ${there} cannot own ${object.kind} "${object.metadata.name}" in workspace ${here}; use withOrigin and finalize`,
    );
  }
  const { namespace } = owner.metadata;
  if (namespace !== undefined && namespace !== object.metadata.namespace) {
    throw new Error(
      `${owner.kind} "${namespace}/${owner.metadata.name}" cannot own ${object.kind} "${object.metadata.name}" in ${object.metadata.namespace ?? 'no namespace'}: an owner in a namespace owns only there`,
    );
  }
  const others = (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== reference.uid);
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } };
}

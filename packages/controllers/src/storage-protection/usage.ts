import type { KubeObject } from '@capstan/machinery';

export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly ephemeral?: object;
    }[];
  };
}

export interface Claim extends KubeObject {
  readonly spec?: { readonly volumeAttributesClassName?: string };
  readonly status?: {
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string };
  };
}

export interface Volume extends KubeObject {
  readonly spec?: { readonly volumeAttributesClassName?: string };
  readonly status?: { readonly phase?: string };
}

/** Whether the pod uses the claim. A pod without a node does not: no node starts a pod whose claim is being deleted. */
export function podUses(pod: Pod, claim: Claim): boolean {
  const { nodeName = '', volumes = [] } = pod.spec ?? {};
  if (nodeName === '') return false;
  return volumes.some(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName === claim.metadata.name) return true;
    if (ephemeral === undefined || `${pod.metadata.name}-${name}` !== claim.metadata.name || isShutDown(pod)) return false;
    return (claim.metadata.ownerReferences ?? []).some(({ uid, controller }) => controller === true && uid === pod.metadata.uid);
  });
}

/** The node has stopped the pod, so nothing uses its volumes any more. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}

/** The classes that a claim uses. */
export function classesOfClaim({ spec, status }: Claim): string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined && name !== '') as string[];
}

export function classesOfVolume({ spec }: Volume): string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}

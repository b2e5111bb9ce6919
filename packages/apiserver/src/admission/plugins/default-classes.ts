import { made } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import { isAbsent } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';

/** Sets the default storage class on claims without one. */
export const defaultStorageClass: AdmissionPlugin = defaultClass({
  name: 'DefaultStorageClass',
  of: { group: '', resource: 'persistentvolumeclaims' },
  field: 'storageClassName',
  oldAnnotation: 'volume.beta.kubernetes.io/storage-class',
  classes: { group: 'storage.k8s.io', resource: 'storageclasses' },
  marks: ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'],
});

/** Sets the default class on ingresses without one. */
export const defaultIngressClass: AdmissionPlugin = defaultClass({
  name: 'DefaultIngressClass',
  of: { group: 'networking.k8s.io', resource: 'ingresses' },
  field: 'ingressClassName',
  oldAnnotation: 'kubernetes.io/ingress.class',
  classes: { group: 'networking.k8s.io', resource: 'ingressclasses' },
  marks: ['ingressclass.kubernetes.io/is-default-class'],
});

interface ClassRule {
  readonly name: string;
  readonly of: GroupResource;
  readonly field: string;
  readonly oldAnnotation: string;
  readonly classes: GroupResource;
  /** The annotations that mark the default class with `true`. */
  readonly marks: readonly string[];
}

function defaultClass({ name, of, field, oldAnnotation, classes, marks }: ClassRule): AdmissionPlugin {
  return {
    name,
    mutate(request) {
      const { resource, operation, subresource, object } = request;
      if (operation !== 'CREATE' || resource.resource !== of.resource || resource.group !== of.group || subresource !== '') return;
      if (object === undefined || object.metadata.annotations?.[oldAnnotation] !== undefined) return;
      const spec = made(object, 'spec');
      if (!isAbsent(spec[field])) return;
      const chosen = newest(request, classes, marks);
      if (chosen !== undefined) spec[field] = chosen.metadata.name;
    },
  };
}

/** If several classes are marked as default, the newest wins, then the first by name. */
function newest({ context }: AdmissionRequest, classes: GroupResource, marks: readonly string[]): KubeObject | undefined {
  let chosen: KubeObject | undefined;
  for (const candidate of context.objects.list(classes, context.cluster)) {
    const { annotations } = candidate.metadata;
    if (annotations === undefined || !marks.some((mark) => annotations[mark] === 'true')) continue;
    if (chosen === undefined || (candidate.metadata.creationTimestamp ?? '') > (chosen.metadata.creationTimestamp ?? ''))
      chosen = candidate;
  }
  return chosen;
}

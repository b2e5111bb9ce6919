import type { KubeObject } from '../json.ts';
import { compareQuantities, type Quantity, scaledValue } from '../quantity/quantity.ts';
import { readAmounts, wholeAmount } from './amounts.ts';
import type { Measure } from './measure.ts';
import { fitsNames } from './scope.ts';

type Claim = KubeObject & {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly volumeAttributesClassName?: string;
    readonly resources?: { readonly requests?: unknown };
  };
  readonly status?: {
    readonly allocatedResources?: unknown;
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string };
  };
};

const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

/** Claims use storage, in total and of their class. */
export const claimMeasure: Measure = {
  looksInside: true,
  usage(object) {
    const claim = object as Claim;
    const one = wholeAmount(1);
    const usage = new Map([
      ['persistentvolumeclaims', one],
      ['count/persistentvolumeclaims', one],
    ]);
    const storageClass = claim.metadata.annotations?.[oldClassAnnotation] ?? claim.spec?.storageClassName ?? '';
    const ofClass = (name: string): string => `${storageClass}.storageclass.storage.k8s.io/${name}`;
    if (storageClass !== '') usage.set(ofClass('persistentvolumeclaims'), one);
    const storage = storageOf(claim);
    if (storage !== undefined) {
      usage.set('requests.storage', storage);
      if (storageClass !== '') usage.set(ofClass('requests.storage'), storage);
    }
    return usage;
  },
  isInScope(scope, object) {
    return scope.scopeName === 'VolumeAttributesClass' && fitsNames(scope, attributesClasses(object as Claim));
  },
  scopeKey: (object) => attributesClasses(object as Claim).join(),
};

/** The classes that the claim has, wants and is changing to. */
function attributesClasses({ spec, status }: Claim): string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return names.filter((name) => name !== undefined && name !== '') as string[];
}

/** The requested storage, or the storage already allocated if that is more. */
function storageOf({ spec, status }: Claim): Quantity | undefined {
  const asked = readAmounts(spec?.resources?.requests).get('storage');
  if (asked === undefined) return undefined;
  const given = readAmounts(status?.allocatedResources).get('storage');
  return wholeBytes(given !== undefined && compareQuantities(given, asked) > 0 ? given : asked);
}

function wholeBytes(amount: Quantity): Quantity {
  const bytes = scaledValue(amount);
  return compareQuantities({ value: bytes, scale: 0, format: amount.format }, amount) === 0
    ? amount
    : { value: bytes, scale: 0, format: amount.format };
}

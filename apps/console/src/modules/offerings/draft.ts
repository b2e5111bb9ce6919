import { type Offering, offeringKind } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';

/** An offering as a person fills it in. */
export interface OfferingDraft {
  readonly name: string;
  readonly gpus: number;
  readonly model: string;
  readonly isLinked: boolean;
  readonly isWhole: boolean;
  readonly cpu: string;
  readonly memory: string;
}

export const emptyOffering: OfferingDraft = { name: '', gpus: 1, model: '', isLinked: false, isWhole: false, cpu: '', memory: '' };

/** The first thing that is wrong; undefined if nothing is. The server has the last word. */
export function faultIn({ name, gpus, isWhole, cpu, memory }: OfferingDraft): string | undefined {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) return 'The name has lower-case letters, digits and hyphens.';
  if ([cpu, memory].some((amount) => amount !== '' && !isQuantity(amount))) return 'Cores are such as 4 or 500m, memory is such as 16Gi.';
  return gpus === 0 && !isWhole && cpu === '' && memory === '' ? 'Offer GPUs, cores, memory or a whole node.' : undefined;
}

export function offeringOf({ name, gpus, model, isLinked, isWhole, cpu, memory }: OfferingDraft): Offering {
  const gpu = { ...(model !== '' && { model }), count: gpus, ...(isLinked && gpus > 1 && { nvlink: 'Required' }) };
  const spec = {
    ...(gpus > 0 && { gpu }),
    ...(isWhole ? { exclusive: true } : { ...(cpu !== '' && { cpu }), ...(memory !== '' && { memory }) }),
  };
  return {
    apiVersion: `${offeringKind.group}/${offeringKind.version}`,
    kind: offeringKind.kind,
    metadata: { name },
    // The server adds the defaults.
    spec: spec as unknown as Offering['spec'],
  };
}

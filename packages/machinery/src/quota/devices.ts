import type { Quantity } from '../quantity/quantity.ts';
import { addAmounts, raiseAmounts, wholeAmount } from './amounts.ts';
import type { Measure } from './measure.ts';

interface DeviceRequest {
  readonly deviceClassName?: string;
  readonly allocationMode?: string;
  readonly count?: number;
}

interface AnyRequest extends DeviceRequest {
  readonly exactly?: DeviceRequest;
  readonly firstAvailable?: readonly DeviceRequest[];
}

interface ClaimSpec {
  readonly devices?: { readonly requests?: readonly AnyRequest[] };
}

/** The maximum for a claim for all devices of a class. */
const most = 32;

/** Devices count by class; of several alternatives, the one that takes the most of a class. */
export const deviceMeasure: Measure = {
  looksInside: true,
  usage(object) {
    const usage = new Map<string, Quantity>([['count/resourceclaims.resource.k8s.io', wholeAmount(1)]]);
    for (const request of ((object['spec'] ?? {}) as ClaimSpec).devices?.requests ?? []) {
      const worst = new Map<string, Quantity>();
      const alternatives = request.firstAvailable ?? [];
      for (const one of alternatives.length > 0 ? alternatives : [request.exactly ?? request]) {
        if (one.deviceClassName !== undefined) raiseAmounts(worst, new Map([[nameOf(one.deviceClassName), devicesOf(one)]]));
      }
      addAmounts(usage, worst);
    }
    return usage;
  },
  isInScope: () => false,
};

function nameOf(deviceClass: string): string {
  return `${deviceClass}.deviceclass.resource.k8s.io/devices`;
}

function devicesOf({ allocationMode, count = 0 }: DeviceRequest): Quantity {
  if (allocationMode === 'All') return wholeAmount(most);
  return wholeAmount(allocationMode === 'ExactCount' ? count : 0);
}

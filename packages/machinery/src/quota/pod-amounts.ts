import type { Quantity } from '../quantity/quantity.ts';
import { type Amounts, addAmounts, raiseAmounts, readAmounts } from './amounts.ts';

export interface Requirements {
  readonly requests?: unknown;
  readonly limits?: unknown;
}

export interface ContainerShape {
  readonly name?: string;
  readonly restartPolicy?: string;
  readonly resources?: Requirements;
}

interface ContainerStatus {
  readonly name?: string;
  readonly resources?: Requirements;
  readonly allocatedResources?: unknown;
}

/** The part of a pod that specifies its resources. */
export interface PodShape {
  readonly spec?: {
    readonly containers?: readonly ContainerShape[];
    readonly initContainers?: readonly ContainerShape[];
    readonly resources?: Requirements;
    readonly overhead?: unknown;
  };
  readonly status?: {
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly conditions?: readonly { readonly type?: string; readonly reason?: string }[];
  };
}

export type AmountKind = 'requests' | 'limits';

/** The total of a pod: the sum of its containers, or the largest init container if that is more. */
export function podAmounts(pod: PodShape, kind: AmountKind): Map<string, Quantity> {
  const total = sumOfContainers(pod, ({ resources }) => readAmounts(resources?.[kind]));
  setPodLevel(total, pod, kind);
  return total;
}

/** The consumption of a pod: the larger of what it requests and still holds, plus its overhead. */
export function podConsumption(pod: PodShape, kind: AmountKind): Map<string, Quantity> {
  const held = new Map<string, ContainerStatus>();
  for (const one of [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]) held.set(one.name ?? '', one);
  const isInfeasible = pod.status?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible') === true;
  const total = sumOfContainers(pod, (container, lasts) => {
    const asked = readAmounts(container.resources?.[kind]);
    const status = lasts ? held.get(container.name ?? '') : undefined;
    if (status?.resources === undefined) return asked;
    const amounts = isInfeasible ? new Map<string, Quantity>() : asked;
    raiseAmounts(amounts, readAmounts(status.resources[kind]));
    if (kind === 'requests') raiseAmounts(amounts, readAmounts(status.allocatedResources));
    return amounts;
  });
  setPodLevel(total, pod, kind);
  for (const [name, amount] of readAmounts(pod.spec?.overhead)) {
    if (kind === 'requests' || (total.get(name)?.value ?? 0n) !== 0n) addAmounts(total, new Map([[name, amount]]));
  }
  return total;
}

/** Whether the pod itself specifies the resources that its containers share. */
export function hasPodLevelAmounts({ spec }: PodShape): boolean {
  const { requests, limits } = spec?.resources ?? {};
  return [...readAmounts(requests).keys(), ...readAmounts(limits).keys()].some(isPodLevel);
}

function setPodLevel(total: Map<string, Quantity>, { spec }: PodShape, kind: AmountKind): void {
  if (spec?.resources === undefined) return;
  for (const [name, amount] of readAmounts(spec.resources[kind])) if (isPodLevel(name)) total.set(name, amount);
}

function isPodLevel(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** `lasts`: the container runs as long as the pod does. */
function sumOfContainers({ spec }: PodShape, amountsOf: (container: ContainerShape, lasts: boolean) => Amounts): Map<string, Quantity> {
  const total = new Map<string, Quantity>();
  for (const container of spec?.containers ?? []) addAmounts(total, amountsOf(container, true));
  const sidecars = new Map<string, Quantity>();
  const before = new Map<string, Quantity>();
  for (const container of spec?.initContainers ?? []) {
    const lasts = container.restartPolicy === 'Always';
    const amounts = amountsOf(container, lasts);
    if (lasts) {
      addAmounts(total, amounts);
      addAmounts(sidecars, amounts);
      raiseAmounts(before, sidecars);
    } else {
      const together = new Map(amounts);
      addAmounts(together, sidecars);
      raiseAmounts(before, together);
    }
  }
  raiseAmounts(total, before);
  return total;
}

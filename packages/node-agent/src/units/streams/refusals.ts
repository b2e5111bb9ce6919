import type { TunnelRequest } from '@capstan/streams';
import { type ContainerTarget, refuse } from '../../requests/router.ts';
import type { UnitRun } from '../engine/unit-run.ts';

export function refuseUnknown(request: TunnelRequest, { namespace, pod }: ContainerTarget): void {
  refuse(request, { code: 404, reason: 'NotFound', message: `this node has no unit ${pod} of the namespace ${namespace}` });
}

export function refuseContainer(request: TunnelRequest, container: string, pod: string): void {
  refuse(request, { code: 400, reason: 'BadRequest', message: `container ${container} is not valid for pod ${pod}` });
}

/** In the words of kubelets, which clients know. */
export function refuseWaiting(
  request: TunnelRequest,
  { container, pod }: { container: string; pod: string },
  { record, status }: UnitRun,
): void {
  const { phase } = record.state;
  const message = `container "${container}" in pod "${pod}" is waiting to start: ${status?.reason ?? (phase === 'Running' ? 'ContainerCreating' : phase)}`;
  refuse(request, { code: 400, reason: 'BadRequest', message });
}

export function refuseIdle(request: TunnelRequest, pod: string, { record: { state } }: UnitRun): void {
  refuse(request, { code: 400, reason: 'BadRequest', message: `unit ${pod} does not run: it is ${state.phase}` });
}

/** A driver could not do what it was asked for. */
export function refuseFailed(request: TunnelRequest, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  refuse(request, { code: 500, reason: 'InternalError', message });
}

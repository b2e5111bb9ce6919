import type { AppOperation, AppOperationStatus } from '@capstan/api';
import { formatTime, isObject, type JsonObject } from '@capstan/machinery';
import { schemaFaults } from '../checking/wish.ts';
import { refusalOf, type Situation, waitsReason } from '../status/actions.ts';
import { errorOf } from './controls.ts';
import { commonAndOwn } from './kinds.ts';

/** Whether an operation that a person asks for may begin. `waits` says why not yet. */
export type Admission =
  | { readonly kind: 'begin' }
  | { readonly kind: 'waits'; readonly message: string }
  | { readonly kind: 'refused'; readonly status: AppOperationStatus };

export function admit(operation: AppOperation, situation: Situation, now: number): Admission {
  const time = formatTime(new Date(now));
  const refused = (code: string, message: string): Admission => ({
    kind: 'refused',
    status: { ...operation.status, state: 'failed', message, errors: [errorOf(code, message, time)], finishedAt: time },
  });
  const fault = commonAndOwn(operation, situation.app);
  if (fault !== undefined) return refused(fault.code, fault.message);
  const own = situation.app?.spec.operations?.find(({ name }) => name === operation.spec.type);
  const parameters = isObject(operation.spec.parameters) ? (operation.spec.parameters as JsonObject) : {};
  const faults = schemaFaults({ parameters: structuredClone(parameters) }, { parameters: own?.parameters ?? { type: 'object' } });
  if (faults.kind === 'problem') return refused(faults.problem.code, faults.problem.message);
  if (faults.value.length > 0) return refused('InvalidParameters', faults.value.slice(0, 8).join('; '));
  if (operation.spec.dryRun) return { kind: 'begin' };
  const refusal = refusalOf(situation, operation.spec.type, operation.spec.member);
  if (refusal === undefined) return { kind: 'begin' };
  return refusal.reason === waitsReason ? { kind: 'waits', message: refusal.message } : refused(refusal.reason, refusal.message);
}

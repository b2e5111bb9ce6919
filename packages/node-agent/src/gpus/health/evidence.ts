import type { Gpu, GpuReading } from '@capstan/api';
import type { XidEvent } from '../xid/kernel-log.ts';
import { describeXid, recoveryXid } from '../xid/table.ts';

/** One thing that is wrong with a card. */
export interface Evidence {
  readonly signal: 'degraded' | 'failed' | 'missing';
  /** A word for programs. */
  readonly reason: string;
  /** A clause for people. */
  readonly detail: string;
}

const degraded = (reason: string, detail: string): Evidence => ({ signal: 'degraded', reason, detail });
const failed = (reason: string, detail: string): Evidence => ({ signal: 'failed', reason, detail });

/** The evidence of a card's own counters. Errors of its lifetime that were repaired are no evidence: every old card has some. */
export function cardEvidence(gpu: Gpu): Evidence[] {
  return [
    ...recoveryEvidence(gpu),
    ...(gpu.repairs.failed ? [failed('MemoryRepairFailed', 'its memory could not be repaired')] : []),
    ...(gpu.repairs.pending ? [degraded('MemoryRepairPending', 'a repair of its memory waits for a reset')] : []),
    ...(gpu.ecc.sramThresholdExceeded === true
      ? [failed('EccThresholdExceeded', 'it had more uncorrectable errors on the chip than its vendor tolerates')]
      : []),
    ...((gpu.ecc.volatile?.uncorrectable ?? 0) > 0
      ? [degraded('UncorrectableEcc', `it had ${gpu.ecc.volatile!.uncorrectable} uncorrectable memory errors since the driver was loaded`)]
      : []),
  ];
}

function recoveryEvidence({ recoveryAction }: Gpu): Evidence[] {
  switch (recoveryAction) {
    case 'reset':
      return [failed('ResetRequired', 'the driver asks for a reset')];
    case 'reboot':
      return [failed('RebootRequired', 'the driver asks for a restart of the machine')];
    case 'drain-p2p':
      return [degraded('DrainRequired', 'the driver asks to end the programs that use other GPUs from it')];
    case 'drain-and-reset':
      return [degraded('DrainRequired', 'the driver asks to end its programs and reset it')];
    default:
      return [];
  }
}

/** The evidence of a reading. A power cap is how cards work under load, so it is no evidence. */
export function readingEvidence({ throttle, unreadable }: GpuReading): Evidence[] {
  const hot = throttle.filter((reason) => ['hardware-thermal', 'hardware-slowdown', 'software-thermal'].includes(reason));
  return [
    ...(unreadable.length > 0 ? [degraded('UnreadableFields', `the driver cannot read ${unreadable.slice(0, 4).join(', ')}`)] : []),
    ...(hot.length > 0 ? [degraded('Overheated', `it slows down (${hot.join(', ')})`)] : []),
    ...(throttle.includes('hardware-power-brake') ? [degraded('PowerBrake', 'the power supply of the machine slows it down')] : []),
  ];
}

export interface XidRules {
  readonly now: number;
  /** How long a watched Xid marks a card, in milliseconds. */
  readonly watchFor: number;
  /** Since when the card has been reset. */
  readonly resetAt: number;
  /** Since when an owner has cleared the card. */
  readonly clearedAt: number;
}

/** Evidence from the kernel log. */
export function xidEvidence(xids: readonly XidEvent[], rules: XidRules): Evidence[] {
  return xids
    .filter((xid) => isInForce(xid, rules))
    .map(({ code, detail }) => {
      const { class: kind, meaning } = describeXid(code);
      const said = `Xid ${code}: ${meaning}${detail === '' ? '' : ` ("${detail.slice(0, 120)}")`}`;
      return kind === 'watch' ? degraded(`Xid${code}`, said) : failed(`Xid${code}`, said);
    });
}

/** Whether an Xid still says something about the card; those that do not may be forgotten. */
export function isInForce({ code, at }: XidEvent, { now, watchFor, resetAt, clearedAt }: XidRules): boolean {
  if (code === recoveryXid || at <= clearedAt) return false;
  switch (describeXid(code).class) {
    case 'application':
      return false;
    case 'watch':
      return now - at < watchFor;
    case 'reset':
      return at > resetAt;
    case 'condemns':
      return true;
  }
}

const order = ['degraded', 'failed', 'missing'] as const;

/** The worst first. */
export function bySeverity(evidence: readonly Evidence[]): Evidence[] {
  return evidence.toSorted((one, other) => order.indexOf(other.signal) - order.indexOf(one.signal));
}

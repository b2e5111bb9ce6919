import type { ThrottleReason } from '@capstan/api';

/** The names in the XML after `clocks_event_reason_`, and NVML's bits. An idle card is not throttled, so idling is not in it. */
const reasons: readonly { readonly name: string; readonly bit: bigint; readonly reason: ThrottleReason }[] = [
  { name: 'applications_clocks_setting', bit: 0x2n, reason: 'applications-clocks' },
  { name: 'sw_power_cap', bit: 0x4n, reason: 'software-power-cap' },
  { name: 'hw_slowdown', bit: 0x8n, reason: 'hardware-slowdown' },
  { name: 'sync_boost', bit: 0x10n, reason: 'sync-boost' },
  { name: 'sw_thermal_slowdown', bit: 0x20n, reason: 'software-thermal' },
  { name: 'hw_thermal_slowdown', bit: 0x40n, reason: 'hardware-thermal' },
  { name: 'hw_power_brake_slowdown', bit: 0x80n, reason: 'hardware-power-brake' },
  { name: 'display_clocks_setting', bit: 0x100n, reason: 'display-clocks' },
];

const idle = 0x1n;
const knownBits = reasons.reduce((bits, { bit }) => bits | bit, idle);

/** From the bits that `--query-gpu=clocks_event_reasons.active` prints, such as `0x0000000000000004`. Undefined if they are not there. */
export function throttleOfBits(text: string | undefined): ThrottleReason[] | undefined {
  if (text === undefined || !/^0x[0-9a-f]{1,16}$/i.test(text)) return undefined;
  const bits = BigInt(text);
  const found = reasons.filter(({ bit }) => (bits & bit) !== 0n).map(({ reason }) => reason);
  return (bits & ~knownBits) === 0n ? found : [...found, 'other'];
}

/** From the XML's elements: `active` says whether the reason of this name is active. */
export function throttleOfNames(active: (name: string) => boolean): ThrottleReason[] {
  return reasons.filter(({ name }) => active(name)).map(({ reason }) => reason);
}

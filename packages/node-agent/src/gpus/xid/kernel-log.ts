import type { RecoveryAction } from '@capstan/api';
import { recoveryActionOf } from '../nvidia/card.ts';
import { recoveryXid } from './table.ts';

export interface XidEvent {
  /** The same each time this line is read. */
  readonly id: string;
  readonly code: number;
  /** The bus of the card without its function, `0000:1b:00`: the kernel log has no more. */
  readonly pciBus: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pid?: number;
  readonly processName?: string;
  /** The rest of the line. */
  readonly detail: string;
  /** The action that an Xid 154 changes to. */
  readonly recoveryAction?: RecoveryAction;
}

export interface LogClock {
  /** When the machine started, in milliseconds since 1970: kernel logs count from there. */
  readonly bootedAt: number;
  /** For lines whose time cannot be read. */
  readonly now: number;
}

const xid = /NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?\): (\d{1,4})(?!\d),?\s?(.*)$/i;
/** A record of /dev/kmsg, a time of dmesg or the start of a journal's line. Elsewhere in a line, the text is a program's and proves nothing. */
const knownPrefix = /^(?:|\d{1,3},\d{1,20},\d{1,20}[^;]{0,40};|\[[^\]]{1,40}\] ?|.{1,120}\bkernel: (?:\[[^\]]{1,40}\] ?)?)$/;
/** Lines of several megabytes do not come from the kernel. */
const maxLine = 8_192;

/** The Xids in the output of dmesg, in records of /dev/kmsg or in the output of `journalctl -k`. All other lines are skipped. */
export function parseXids(text: string, clock: LogClock): XidEvent[] {
  return text.split('\n').flatMap((line) => {
    const event = line.length > maxLine ? undefined : parseLine(line, clock);
    return event === undefined ? [] : [event];
  });
}

function parseLine(line: string, clock: LogClock): XidEvent | undefined {
  const match = xid.exec(line);
  if (match === null) return undefined;
  const [whole, bus, code, rest] = match;
  const pid = /\bpid='?(\d{1,10})/.exec(rest!)?.[1];
  const processName = /\bname='?([^,']{1,64})/.exec(rest!)?.[1]?.trim();
  const [domain, ...device] = bus!.toLowerCase().split(':');
  const prefix = line.slice(0, line.length - whole.length);
  if (!knownPrefix.test(prefix) || isFromProgram(prefix)) return undefined;
  const stamp = /^\d{1,3},\d{1,20},\d{1,20}(?=[,;])/.exec(prefix)?.[0] ?? prefix.trim();
  return {
    id: `${stamp} ${bus!.toLowerCase()} ${code}`,
    code: Number(code),
    pciBus: [Number.parseInt(domain!, 16).toString(16).padStart(4, '0'), ...device].join(':'),
    at: timeOf(prefix, clock),
    ...(pid !== undefined && { pid: Number(pid) }),
    ...(processName !== undefined && !processName.startsWith('<unknown>') && { processName }),
    detail: rest!.trim().slice(0, 512),
    ...(Number(code) === recoveryXid && { recoveryAction: recoveryActionOf(/\bto 0x[0-9a-f]+ \(([^)]{1,60})\)/i.exec(rest!)?.[1]) }),
  };
}

/** Programs may write to /dev/kmsg; the kernel marks their records with another facility than its own, 0. */
function isFromProgram(prefix: string): boolean {
  return Number(/^(\d{1,3}),/.exec(prefix)?.[1] ?? 0) >= 8;
}

/** `4,360,49105995,c;` of /dev/kmsg, `[   49.105995]` of dmesg, or `1763260800.123456 host kernel:` of `journalctl -o short-unix`. */
function timeOf(prefix: string, { bootedAt, now }: LogClock): number {
  const microseconds = /^\d{1,3},\d{1,20},(\d{1,18})[,;]/.exec(prefix)?.[1];
  if (microseconds !== undefined) return Math.round(bootedAt + Number(microseconds) / 1_000);
  const seconds = /\[\s*(\d{1,12}\.\d{1,9})\]/.exec(prefix)?.[1];
  if (seconds !== undefined) return Math.round(bootedAt + Number(seconds) * 1_000);
  const epoch = /^(\d{9,11}\.\d{1,9}) /.exec(prefix)?.[1];
  if (epoch !== undefined) return Math.round(Number(epoch) * 1_000);
  const date = /^\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]/.exec(prefix)?.[1];
  const parsed = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(parsed) ? now : parsed;
}

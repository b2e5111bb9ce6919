import { auditWorkspaceAnnotation } from '@capstan/api';
import type { OrganizationOf } from '../../limits/line.ts';
import { Readers } from '../../limits/readers.ts';
import { type AuditQuery, forTenants, matches, parseEvent, timeIn, timeOf } from './filter.ts';
import type { FoundEvent, LogPage } from './merge.ts';
import { type LogPosition, scanBackwards } from './scan.ts';

export interface AuditLogOptions {
  readonly file: string;
  /** In bytes: how much of the log one query reads at most. */
  readonly budget?: number;
  /** How many queries read at the same time; half of them those of one organization. */
  readonly concurrent?: number;
  /** By default, each workspace is its own organization. */
  readonly organizationOf?: OrganizationOf;
}

export interface PageRequest {
  readonly query: Omit<AuditQuery, 'continue'>;
  /** Where to go on; at the end of the log if undefined. */
  readonly from?: LogPosition | undefined;
}

const defaults = { budget: 32 << 20, concurrent: 4, organizationOf: (cluster: string) => cluster };
/** In characters: events with bodies are large. */
const largestAnswer = 4 << 20;
/** In milliseconds: events are written when they happen, but counts of denials up to a minute later. */
const disorder = 120_000;

/** Reads the log of this server. */
export class AuditLogReader {
  readonly #options: Required<AuditLogOptions>;
  readonly #readers: Readers;

  constructor(options: AuditLogOptions) {
    this.#options = { ...defaults, ...options };
    const { concurrent: overall } = this.#options;
    this.#readers = new Readers({ what: 'queries of the audit log', overall, perTenant: Math.ceil(overall / 2) });
  }

  /** It may have fewer events than asked for, and still say where to go on. Throws `PositionGone` if that part of the log was deleted. */
  page(request: PageRequest): Promise<LogPage> {
    const { workspace, isTenant } = request.query;
    const tenant = isTenant && workspace !== undefined ? this.#options.organizationOf(workspace) : '';
    return this.#readers.run(tenant, () => this.#page(request));
  }

  async #page({ query, from }: PageRequest): Promise<LogPage> {
    const { file, budget } = this.#options;
    // Most lines of a large log are those of others, which shows without parsing them.
    const needle =
      query.workspace === undefined
        ? undefined
        : Buffer.from(`${JSON.stringify(auditWorkspaceAnnotation)}:${JSON.stringify(query.workspace)}`);
    const items: FoundEvent[] = [];
    let [length, isPast, began] = [0, false, from];
    let time = Number.MAX_SAFE_INTEGER;
    const visit = (line: Buffer, part: string, offset: number): boolean => {
      began ??= { part, offset: offset + line.length + 1 };
      isPast = query.since !== undefined && timeIn(line) < query.since - disorder;
      if (isPast) return false;
      if (needle !== undefined && !line.includes(needle)) return true;
      const event = parseEvent(line.toString('utf8'));
      if (event === undefined || !matches(query, event)) return true;
      const text = JSON.stringify(query.isTenant ? forTenants(event) : event);
      time = Math.min(time, timeOf(event) || time);
      items.push({ text, time, after: { part, offset } });
      length += text.length;
      return items.length < query.limit && length < largestAnswer;
    };
    const next = await scanBackwards({ file, from, budget, visit });
    const rest = next === undefined || isPast ? undefined : { at: next, time: Math.min(time, await this.#timeAt(next)) };
    return { items, from: began, rest };
  }

  /** The time of the line before a position. */
  async #timeAt(from: LogPosition): Promise<number> {
    let time = Number.NaN;
    const visit = (line: Buffer): boolean => {
      time = timeIn(line);
      return false;
    };
    await scanBackwards({ file: this.#options.file, from, budget: 1, visit });
    return time || Number.MAX_SAFE_INTEGER;
  }
}

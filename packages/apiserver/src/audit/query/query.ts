import { auditWorkspaceAnnotation } from '@capstan/api';
import { status } from '@capstan/machinery';
import { Cursors, expired } from './cursor.ts';
import { type AuditQuery, forTenants, matches, parseEvent, timeIn } from './filter.ts';
import { PositionGone, scanBackwards } from './scan.ts';

export interface AuditQueriesOptions {
  readonly file: string;
  /** In bytes: how much of the log one query reads at most. */
  readonly budget?: number;
  /** How many queries read at the same time. */
  readonly concurrent?: number;
}

const defaults = { budget: 32 << 20, concurrent: 4 };
/** In characters: events with bodies are large. */
const largestAnswer = 4 << 20;
/** In milliseconds: events are written when they happen, but counts of denials up to a minute later. */
const disorder = 120_000;

/** Answers queries from the log of this server, newest events first. */
export class AuditQueries {
  readonly #options: Required<AuditQueriesOptions>;
  readonly #cursors = new Cursors();
  #running = 0;

  constructor(options: AuditQueriesOptions) {
    this.#options = { ...defaults, ...options };
  }

  /** An EventList as JSON. It may have fewer events than asked for, and still say where to go on. */
  async answer(query: AuditQuery): Promise<string> {
    const { concurrent } = this.#options;
    if (this.#running >= concurrent) throw status.tooManyRequests(`${concurrent} queries of the audit log are running already`, 1);
    this.#running++;
    try {
      return await this.#answer(query);
    } finally {
      this.#running--;
    }
  }

  async #answer(query: AuditQuery): Promise<string> {
    const { file, budget } = this.#options;
    const scope = query.workspace ?? '';
    const from = query.continue === undefined ? undefined : this.#cursors.open(query.continue, scope);
    // Most lines of a large log are those of others, which shows without parsing them.
    const needle =
      query.workspace === undefined
        ? undefined
        : Buffer.from(`${JSON.stringify(auditWorkspaceAnnotation)}:${JSON.stringify(query.workspace)}`);
    const items: string[] = [];
    let length = 0;
    let isPast = false;
    const visit = (line: Buffer): boolean => {
      isPast = query.since !== undefined && timeIn(line) < query.since - disorder;
      if (isPast) return false;
      if (needle !== undefined && !line.includes(needle)) return true;
      const event = parseEvent(line.toString('utf8'));
      if (event === undefined) return true;
      if (!matches(query, event)) return true;
      const text = JSON.stringify(query.isTenant ? forTenants(event) : event);
      items.push(text);
      length += text.length;
      return items.length < query.limit && length < largestAnswer;
    };
    try {
      const next = await scanBackwards({ file, from, budget, visit });
      const metadata = next === undefined || isPast ? {} : { continue: this.#cursors.seal(next, scope) };
      return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":${JSON.stringify(metadata)},"items":[${items.join(',')}]}`;
    } catch (error) {
      throw error instanceof PositionGone ? expired() : error;
    }
  }
}

import { Cursors, expired } from './cursor.ts';
import type { AuditQuery } from './filter.ts';
import { type AuditLogOptions, AuditLogReader, type PageRequest } from './log-reader.ts';
import { type LogPage, mergePages, type Places } from './merge.ts';
import { type LogPosition, PositionGone } from './scan.ts';

/** The audit logs of other API servers. */
export interface OtherLogs {
  /** The names of the servers that are alive. */
  names(): readonly string[];
  /** Throws `PositionGone` if that part of the log was deleted, and anything else if the server does not answer. */
  page(server: string, request: PageRequest): Promise<LogPage>;
}

export interface AuditQueriesOptions extends AuditLogOptions {
  readonly others?: OtherLogs | undefined;
  /** The name by which the other servers know this one. */
  readonly name?: string;
  /** The key of tokens, from `cursorKey`. Without it, tokens are valid only here. */
  readonly key?: Buffer | undefined;
}

/** Answers queries from the logs of all servers, newest events first. */
export class AuditQueries {
  /** The log of this server, for the queries of others too. */
  readonly log: AuditLogReader;
  readonly #others: OtherLogs | undefined;
  readonly #name: string;
  readonly #cursors: Cursors;

  constructor({ others, name = '', key, ...options }: AuditQueriesOptions) {
    this.log = new AuditLogReader(options);
    this.#others = others;
    this.#name = name;
    this.#cursors = new Cursors(key);
  }

  /** An EventList as JSON. It may have fewer events than asked for, and still say where to go on. It names servers whose events are missing. */
  async answer({ continue: token, ...query }: AuditQuery): Promise<string> {
    const scope = query.workspace ?? '';
    const places: Places | undefined = token === undefined ? undefined : this.#cursors.open(token, scope);
    const servers = places === undefined ? [this.#name, ...(this.#others?.names() ?? [])] : [...places.keys()];
    // A server that is alone has been renamed since.
    if (this.#others === undefined && !servers.includes(this.#name)) throw expired();
    const missing = new Map<string, 'missing'>();
    const pages = new Map<string, LogPage>();
    const read = async (server: string): Promise<void> => {
      const from = places?.get(server);
      const page = from === 'missing' ? undefined : await this.#page(server, { query, from });
      if (page === undefined) missing.set(server, 'missing');
      else pages.set(server, page);
    };
    await Promise.all(servers.map(read));
    const merged = mergePages(pages, query.limit);
    const next = new Map<string, LogPosition | 'missing'>([...merged.places, ...missing]);
    const metadata = merged.places.size === 0 ? {} : { continue: this.#cursors.seal(next, scope) };
    // Tenants do not learn the names of the platform's machines.
    const names = query.isTenant ? [...missing].map(() => 'a server of the platform') : [...missing.keys()].sort();
    const gap = names.length === 0 ? '' : `,"missingServers":${JSON.stringify(names)}`;
    const items = merged.items.map(({ text }) => text).join(',');
    return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":${JSON.stringify(metadata)}${gap},"items":[${items}]}`;
  }

  /** Undefined if another server does not answer. */
  async #page(server: string, request: PageRequest): Promise<LogPage | undefined> {
    try {
      return server === this.#name ? await this.log.page(request) : await this.#others?.page(server, request);
    } catch (error) {
      if (error instanceof PositionGone) throw expired();
      if (server === this.#name) throw error;
      return undefined;
    }
  }
}

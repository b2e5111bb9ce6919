import type { Readable } from 'node:stream';
import { unitContainer } from '@capstan/api';
import { status } from '@capstan/machinery';
import { logOptions, readLog } from '@capstan/streams';
import { shownNodeUnit } from '../connect/shown-unit.ts';
import type { StoredLogs } from '../connect/stored-logs.ts';
import { placesOfUnit, type UnitRun } from './places.ts';
import type { Readers } from './readers.ts';
import type { LogStore } from './store.ts';

/** The stores of other API servers. */
export interface OtherStores {
  /** The answer of the first that has the log, at a path as `LogReader.serve` takes it; undefined if none has. */
  log(path: string, signal: AbortSignal): Promise<Readable | undefined>;
}

export interface LogReaderOptions {
  readonly store: Pick<LogStore, 'files' | 'runs'>;
  readonly readers: Readers;
  readonly now: () => number;
}

type Place = Omit<UnitRun, 'incarnation'>;
type Query = Pick<URLSearchParams, 'get'>;

/** Reads the output of units in the store of this server. */
export class LogReader {
  readonly #options: LogReaderOptions;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** A log as `pods/log` returns it; undefined if this store has none. */
  async open(place: Place, query: Query, signal: AbortSignal): Promise<Readable | undefined> {
    const { store, now, readers } = this.#options;
    const options = logOptions(query, now());
    if (typeof options === 'string') throw status.badRequest(options);
    const places = placesOfUnit(place);
    const run = (await store.runs(places)).at(options.previous ? -2 : -1);
    const files = run === undefined ? undefined : await store.files({ ...places, run });
    if (files === undefined) return undefined;
    const log = { files, complete: true };
    return readers.read(readLog(() => Promise.resolve(log), { ...options, follow: false }, signal));
  }

  /** For other API servers: `<workspace>/<namespace>/<NodeUnit>/<node>?<options>`. */
  readonly serve = async (path: string, signal: AbortSignal): Promise<Readable | undefined> => {
    const [names = '', query = ''] = path.split('?', 2);
    const [cluster, namespace, nodeUnit, node, ...more] = names.split('/').map(decodeURIComponent);
    if (cluster === undefined || namespace === undefined || nodeUnit === undefined || node === undefined || more.length > 0)
      return undefined;
    return this.open({ cluster, namespace, nodeUnit, node }, new URLSearchParams(query), signal);
  };
}

const passedOn = ['previous', 'timestamps', 'sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes'];

/** Output of pods that show units, from the store of this server or of another. */
export function storedLogs(reader: LogReader, others: OtherStores | undefined): StoredLogs {
  return {
    async open({ pod, node, container, context, query, signal }) {
      const nodeUnit = shownNodeUnit(pod);
      if (nodeUnit === undefined || container !== unitContainer) return undefined;
      const { cluster } = context;
      const place = { cluster, namespace: pod.metadata.namespace ?? '', nodeUnit, node };
      const own = await reader.open(place, query, signal);
      if (own !== undefined || others === undefined) return own;
      const options = new URLSearchParams();
      for (const name of passedOn) if (query.get(name) !== null) options.set(name, query.get(name)!);
      const path = [place.cluster, place.namespace, place.nodeUnit, place.node].map(encodeURIComponent).join('/');
      return others.log(`${path}?${options.toString()}`, signal);
    },
  };
}

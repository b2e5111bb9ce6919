import { unitContainer } from '@capstan/api';
import { fieldsOf, type KubeObject, textOf } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import { FollowedLog, NodeAway } from './followed-log.ts';
import { openLog } from './log.ts';
import { sendLog } from './log-socket.ts';
import type { OpenStream } from './open-streams.ts';
import { shownNodeUnit } from './shown-unit.ts';
import { isAway, type StoredLogs } from './stored-logs.ts';
import type { NodeTarget, Reach } from './target.ts';

export interface LogsOptions extends Pick<Reach, 'kubelets'> {
  /** Output of pods whose node cannot be asked. */
  readonly storedLogs?: StoredLogs | undefined;
}

/** The container whose log is wanted. */
export interface LogPlace {
  /** As it is now; undefined if it is gone. */
  readonly find: () => KubeObject | undefined;
  readonly pod: KubeObject;
  readonly node: string;
  readonly container: string;
  /** Rejects if the node is away. */
  readonly reach: () => Promise<NodeTarget>;
}

/** Sends the logs of containers: from their nodes or, if those are away or know nothing of the pod any more, what they have sent before. */
export class Logs {
  readonly #options: LogsOptions;

  constructor(options: LogsOptions) {
    this.#options = options;
  }

  async serve(stream: OpenStream, context: RequestContext, place: LogPlace): Promise<void> {
    const { query } = context.info;
    const isUnit = shownNodeUnit(place.pod) !== undefined && place.container === unitContainer;
    if (isUnit && query.get('follow') === 'true' && query.get('previous') !== 'true') return this.#follow(stream, context, place);
    const { pod, node, container, reach } = place;
    const { signal } = stream;
    try {
      const target = await reach();
      return await sendLog(stream, await openLog(this.#options, { context, pod, container, target, query, signal }));
    } catch (error) {
      if (stream.exchange.answered || !isAway(error)) throw error;
      const stored = await this.#options.storedLogs?.open({ pod, node, container, context, query, signal });
      if (stored === undefined) throw error;
      context.warn(`node ${node} cannot be asked: this is the output that it has sent before`);
      return sendLog(stream, stored);
    }
  }

  async #follow(stream: OpenStream, context: RequestContext, { find, pod, node, container, reach }: LogPlace): Promise<void> {
    const { signal } = stream;
    const shown = shownNodeUnit(pod);
    const log = new FollowedLog({
      query: context.info.query,
      signal,
      ask: async (query) => {
        const target = await reach().catch((cause: unknown) => {
          throw new NodeAway(`node ${node} cannot be reached`, { cause });
        });
        return openLog(this.#options, { context, pod, container, target, query, signal });
      },
      stored: async (query) => this.#options.storedLogs?.open({ pod, node, container, context, query, signal }),
      state: () => stateOf(find(), shown),
    });
    const body = await log.open();
    if (log.isAway) context.warn(`node ${node} is away: this is the output that it has sent before, and the rest follows when it is back`);
    return sendLog(stream, body);
  }
}

function stateOf(pod: KubeObject | undefined, shown: string | undefined): 'runs' | 'ended' | 'elsewhere' {
  if (pod === undefined || shownNodeUnit(pod) !== shown) return 'elsewhere';
  return ['Succeeded', 'Failed'].includes(textOf(fieldsOf(pod['status'])['phase'])) ? 'ended' : 'runs';
}

import { type NodeUnit, type NodeUnitStatus, nodeNamespace, nodeUnitKind } from '@capstan/api';
import { type Client, Informer } from '@capstan/client';
import { Trouble } from '@capstan/machinery';
import { agentWatch } from '../../control-plane/watches.ts';
import type { StatusReports } from '../../reporting/status-reports.ts';
import type { UnitEngine } from '../engine/engine.ts';

export interface UnitWatchOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly engine: Pick<UnitEngine, 'accept' | 'remove' | 'names'>;
  readonly reports: Pick<StatusReports<NodeUnitStatus>, 'observe' | 'forget'>;
  readonly log: (line: string) => void;
}

/** Hands the NodeUnits of this node to the engine, until the signal aborts. */
export async function watchUnits({ client, node, engine, reports, log }: UnitWatchOptions, signal: AbortSignal): Promise<void> {
  const trouble = new Trouble({
    log,
    begins: (why) => `the units of this node cannot be read: ${why}`,
    lasts: (why, { duration }) => `the units of this node could not be read for ${duration}: ${why}`,
    ends: ({ duration }) => `the units of this node can be read again after ${duration}`,
    now: () => performance.now(),
  });
  const informer = new Informer<NodeUnit>({
    resource: client.resource<NodeUnit>(nodeUnitKind).in(nodeNamespace(node)),
    ...agentWatch,
    onError: (error) => trouble.report(error instanceof Error ? error.message : String(error), 'watch'),
    onRecovered: () => trouble.clear('watch'),
  });
  const failed = (error: unknown): void => {
    if (!signal.aborted) log(`a unit could not be accepted: ${error instanceof Error ? error.message : String(error)}`);
  };
  using _followed = informer.onChange(({ type, object }) => {
    const { name = '' } = object.metadata;
    if (type === 'deleted') {
      reports.forget(name);
      engine.remove(name).catch(failed);
      return;
    }
    reports.observe(object);
    engine.accept(object).catch(failed);
  });
  const running = informer.start(signal);
  try {
    await informer.synced(signal);
    // Units that were deleted while the agent was not running.
    const present = new Set(informer.list().map(({ metadata }) => metadata.name));
    for (const name of engine.names) if (!present.has(name)) engine.remove(name).catch(failed);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await running;
}

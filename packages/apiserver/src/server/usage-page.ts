import { everyCluster, platformWorkspace, rootCluster, usagePath } from '@capstan/api';
import { status } from '@capstan/machinery';
import { sendJson } from '../handlers/nonresource.ts';
import type { Exchange } from '../http/exchange.ts';
import { Readers } from '../limits/readers.ts';
import type { Page } from '../registry/page.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { parseAppend, parseOwner } from '../usage/facts.ts';
import type { UsageLedger } from '../usage/ledger.ts';
import { parseUsageQuery, UsageSums } from '../usage/report.ts';
import type { Tree } from '../workspaces/tree.ts';

const largestBody = 4 << 20;
/** Facts of a report that are added up in one turn. By day, each may be many. */
const factsPerTurn = { day: 20, others: 1_000 };

/**
 * `/capstan/usage`. The right to read it is `get` on the path, which the rules of the workspace give; the right to write it is `post` in root:platform, which compute's
 * account has.
 */
export function usagePage(ledger: UsageLedger, { tree, now }: { readonly tree: Tree; readonly now: () => Date }): readonly [string, Page] {
  const readers = new Readers({ what: 'reports of usage' });
  const isPlatform = ({ cluster }: RequestInfo): boolean => cluster === tree.resolve(platformWorkspace);
  const append = async (exchange: Exchange, info: RequestInfo): Promise<void> => {
    if (!isPlatform(info)) throw status.methodNotAllowed();
    const body = parseAppend((await exchange.body(largestBody)).toString('utf8'));
    sendJson(exchange, info, JSON.stringify(await ledger.append(body)));
  };
  const report = async (exchange: Exchange, info: RequestInfo): Promise<void> => {
    const owner = info.query.get('allocation');
    if (owner !== null && isPlatform(info)) return sendJson(exchange, info, JSON.stringify(await ledger.state(parseOwner(owner))));
    const query = parseUsageQuery((name) => info.query.get(name) ?? undefined, now());
    await readers.run(exchange.client?.tenant ?? '', async () => {
      const sums = new UsageSums(query, now());
      const perTurn = query.groupBy === 'day' ? factsPerTurn.day : factsPerTurn.others;
      let read = 0;
      for await (const fact of ledger.read(clusterOf(info, tree))) {
        sums.add(fact);
        if (++read % perTurn === 0) await exchange.client?.turn();
      }
      sendJson(exchange, info, JSON.stringify(sums.report()));
    });
  };
  return [
    usagePath,
    (exchange, info) => {
      if (info.cluster === everyCluster) throw status.noSuchResource();
      if (info.method === 'GET') return report(exchange, info);
      if (info.method === 'POST') return append(exchange, info);
      throw status.methodNotAllowed();
    },
  ];
}

/** In root, all workspaces or the one that `workspace` names; one that is gone is known by its id. */
function clusterOf({ cluster, query }: RequestInfo, tree: Tree): string | undefined {
  if (cluster !== rootCluster) return cluster;
  const named = query.get('workspace') ?? '';
  return named === '' ? undefined : (tree.resolve(named) ?? named);
}

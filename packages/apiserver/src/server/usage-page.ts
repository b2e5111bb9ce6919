import { everyCluster, platformWorkspace, rootCluster, usagePath } from '@capstan/api';
import { status } from '@capstan/machinery';
import { sendJson } from '../handlers/nonresource.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Page } from '../registry/page.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { parseAppend, parseOwner } from '../usage/facts.ts';
import type { UsageLedger } from '../usage/ledger.ts';
import { parseUsageQuery, UsageSums } from '../usage/report.ts';
import type { Tree } from '../workspaces/tree.ts';

const largestBody = 4 << 20;
/** Reports that read the ledger at the same time. */
const mostReports = 4;

/**
 * `/capstan/usage`. The right to read it is `get` on the path, which the rules of the workspace give; the right to write it is `post` in root:platform, which compute's
 * account has.
 */
export function usagePage(ledger: UsageLedger, { tree, now }: { readonly tree: Tree; readonly now: () => Date }): readonly [string, Page] {
  let running = 0;
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
    if (running >= mostReports) throw status.tooManyRequests(`${mostReports} reports of usage are being made already`, 1);
    running++;
    try {
      const sums = new UsageSums(query, now());
      for await (const fact of ledger.read(clusterOf(info, tree))) sums.add(fact);
      sendJson(exchange, info, JSON.stringify(sums.report()));
    } finally {
      running--;
    }
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

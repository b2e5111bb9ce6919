import { auditPath, everyCluster, rootCluster } from '@capstan/api';
import { status } from '@capstan/machinery';
import { parseQuery } from '../audit/query/filter.ts';
import type { AuditQueries } from '../audit/query/query.ts';
import { sendJson } from '../handlers/nonresource.ts';
import type { Page } from '../registry/page.ts';
import type { Tree } from '../workspaces/tree.ts';

/**
 * `/capstan/audit`: in the root workspace the events of all workspaces, or of the one that `workspace` names; in any other its own. The right to it is `get`
 * on the path, which the rules of the workspace give.
 */
export function auditPage(queries: AuditQueries, tree: Tree): readonly [string, Page] {
  return [
    auditPath,
    async (exchange, info) => {
      if (exchange.method !== 'GET') throw status.methodNotAllowed();
      if (info.cluster === everyCluster) throw status.noSuchResource();
      const isTenant = info.cluster !== rootCluster;
      const parameter = (name: string): string | undefined => info.query.get(name) ?? undefined;
      const workspace = isTenant ? info.cluster : wanted(tree, parameter('workspace'));
      sendJson(exchange, info, await queries.answer(parseQuery(parameter, { workspace, isTenant })));
    },
  ];
}

/** By path or by id. A workspace that is gone still has events, under its id. */
function wanted(tree: Tree, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  return tree.resolve(text) ?? text;
}

import {
  type AgentArchive,
  type AgentPlatform,
  agentArchivePath,
  agentFilesPath,
  agentManifestPath,
  agentPlatforms,
  installScriptPath,
} from '@capstan/api';
import { status } from '@capstan/machinery';
import { anonymous } from '../authn/user.ts';
import { isKnown } from '../http/entity-tag.ts';
import type { Exchange } from '../http/exchange.ts';
import { sendFile } from '../http/send-file.ts';
import { sourceOf } from '../http/source.ts';
import type { Line } from '../limits/line.ts';
import { OpenCount } from '../limits/open-count.ts';
import type { Page } from '../registry/page.ts';
import type { AgentArchives, StoredArchive } from './archives.ts';
import { installScript } from './install-script.ts';

/** Downloads at the same time: of all machines, and of one address. */
const limits = { overall: 64, perLine: 16 };

/** The files that a bare machine becomes a node with. They contain no secrets and are for everybody. */
export function archivePages(archives: AgentArchives): [string, Page][] {
  const downloads = new OpenCount({ what: 'downloads of the node agent', ...limits });
  const pages = new Map<string, (exchange: Exchange) => Promise<void>>([
    [installScriptPath, async (exchange) => sendScript(exchange, await archives.all())],
    ...agentPlatforms.flatMap((platform) => pagesOf(platform, archives, downloads)),
  ]);
  return [
    [
      agentFilesPath,
      async (exchange, { method, path }) => {
        const page = pages.get(path);
        if (page === undefined) return exchange.send({ code: 404, type: 'text/plain; charset=utf-8', body: '404 page not found\n' });
        if (method !== 'GET') throw status.methodNotAllowed();
        await page(exchange);
      },
    ],
  ];
}

function pagesOf(
  platform: AgentPlatform,
  archives: AgentArchives,
  downloads: OpenCount,
): [string, (exchange: Exchange) => Promise<void>][] {
  return [
    [
      agentManifestPath(platform),
      async (exchange) => {
        const { version, sha256, size, unpackedSize } = await archives.find(platform);
        const body = JSON.stringify({ platform, version, sha256, size, unpackedSize } satisfies AgentArchive);
        exchange.send({ code: 200, type: 'application/json', body });
      },
    ],
    [
      agentArchivePath(platform),
      async (exchange) => {
        const archive = await archives.find(platform);
        const source = sourceOf(exchange.remoteAddress);
        const line: Line = { level: 'people', tenant: source, workspace: source, user: source };
        downloads.open(line, anonymous);
        exchange.onClose(() => downloads.close(line));
        await sendFile(exchange, { file: archives.pathOf(archive), type: 'application/gzip', tag: `"${archive.sha256}"` });
      },
    ],
  ];
}

function sendScript(exchange: Exchange, archives: readonly StoredArchive[]): void {
  const body = installScript(archives);
  if (isKnown(exchange, `"${archives.map(({ sha256 }) => sha256.slice(0, 16)).join('-')}"`)) return;
  exchange.send({ code: 200, type: 'text/x-shellscript; charset=utf-8', body });
}

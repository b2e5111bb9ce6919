import { apiServerGroup } from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';
import { tunnelPath, tunnelProtocol } from '@capstan/streams';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Authenticator } from '../authn/user.ts';
import type { Exchange } from '../http/exchange.ts';
import { switchProtocols } from '../http/upgrade-exchange.ts';
import { agentOfRaw } from '../node-agents/agent-certificate.ts';
import type { NodeIdentities } from '../node-agents/identities.ts';
import { relayPath } from '../node-agents/paths.ts';
import type { Page } from '../registry/page.ts';
import type { Heartbeats } from './heartbeats.ts';
import type { NodeTunnels } from './node-tunnels.ts';
import { answerRelay, type RelayedStores } from './relayed.ts';

/**
 * The pages that become tunnels. The certificate of the connection itself says who the peer is, not the user of the request: nobody can open a tunnel in
 * the name of another.
 */
export function tunnelPages(options: {
  readonly tunnels: NodeTunnels;
  readonly heartbeats: Heartbeats;
  readonly identities: NodeIdentities;
  readonly authenticator: Authenticator;
  readonly stores: RelayedStores;
}): [string, Page][] {
  const { tunnels, heartbeats, identities, authenticator, stores } = options;
  return [
    [
      tunnelPath,
      async (exchange) => {
        const raw = peerCertificate(exchange.socket);
        const agent = raw && agentOfRaw(raw);
        if (raw === undefined || agent === undefined || identities.problem(agent) !== undefined)
          throw forbidden('only node agents may open tunnels');
        const tunnel = await tunnels.accept(agent.node, await switched(exchange));
        void heartbeats.follow(tunnel, raw);
      },
    ],
    [
      relayPath,
      async (exchange) => {
        const user = await authenticator.authenticate({ certificate: () => peerCertificate(exchange.socket) });
        if (user?.groups.includes(apiServerGroup) !== true) throw forbidden('only API servers may use the tunnels of others');
        await answerRelay(await switched(exchange), tunnels, stores);
      },
    ],
  ];
}

const forbidden = (why: string): StatusError => status.forbidden({ group: '', resource: '' }, '', why);

async function switched(exchange: Exchange): Promise<ReturnType<typeof switchProtocols>> {
  if (exchange.upgradeTo !== tunnelProtocol)
    throw new StatusError({
      code: 426,
      reason: 'UpgradeRequired',
      message: `expected a request with the header Upgrade: ${tunnelProtocol}`,
    });
  await exchange.beforeStream?.();
  return switchProtocols(exchange.upgrade(), ['Connection', 'Upgrade', 'Upgrade', tunnelProtocol]);
}

import { nodeAgentGroup } from '@capstan/api';
import { connectionOf } from '../authn/peer-certificate.ts';
import { type Authenticator, Unauthenticated } from '../authn/user.ts';
import { agentOfRaw } from './agent-certificate.ts';
import type { AgentConnections } from './connections.ts';
import type { NodeIdentities } from './identities.ts';

/** Accepts the certificates of node agents only while their node has them: `certificates` says whose a certificate is. */
export function nodeAgents(
  certificates: Authenticator,
  { identities, connections }: { readonly identities: NodeIdentities; readonly connections: AgentConnections },
): Authenticator {
  const seen = new WeakSet<Buffer>();
  return {
    authenticate(credentials) {
      const user = certificates.authenticate(credentials);
      if (user === undefined || user instanceof Promise || !user.groups.includes(nodeAgentGroup)) return user;
      const raw = credentials.certificate!()!;
      const agent = agentOfRaw(raw);
      const problem = agent === undefined ? 'a certificate of this group must name a node agent' : identities.problem(agent);
      if (problem !== undefined) throw new Unauthenticated(problem, { fault: 'revoked' });
      if (!seen.has(raw)) {
        seen.add(raw);
        const socket = connectionOf(raw);
        if (socket !== undefined) connections.add(agent!, socket);
      }
      return user;
    },
  };
}

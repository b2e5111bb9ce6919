import { X509Certificate } from 'node:crypto';
import { nodeAgentGroup, nodeOfAgent } from '@capstan/api';
import { publicKeyHash } from '@capstan/pki';
import type { AgentCertificate } from './identities.ts';

const unitPrefix = 'generation:';

/** The unit of a certificate that names the generation of the node's identity. */
export const generationUnit = (generation: number): string => `${unitPrefix}${generation}`;

/** The agent that a certificate was issued to; undefined if it was issued to somebody else. */
export function agentOf(certificate: X509Certificate): AgentCertificate | undefined {
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | string[] | undefined>>;
  const last = (name: string): string => [subject[name] ?? ''].flat().at(-1)!;
  const node = nodeOfAgent(last('CN'));
  if (node === undefined || last('O') !== nodeAgentGroup) return undefined;
  const unit = [subject['OU'] ?? ''].flat().find((text) => text.startsWith(unitPrefix));
  const generation = unit === undefined ? 0 : Number(unit.slice(unitPrefix.length));
  return { node, uid: last('OU'), generation, key: publicKeyHash(certificate.publicKey), notAfter: certificate.validToDate.getTime() };
}

const known = new WeakMap<Buffer, AgentCertificate>();

/** The same for a certificate in DER, read once for each connection. */
export function agentOfRaw(raw: Buffer): AgentCertificate | undefined {
  let agent = known.get(raw);
  if (agent === undefined) {
    agent = agentOf(new X509Certificate(raw));
    if (agent !== undefined) known.set(raw, agent);
  }
  return agent;
}

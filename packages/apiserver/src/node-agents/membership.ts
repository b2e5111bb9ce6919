import { X509Certificate } from 'node:crypto';
import type { EnrollRequest, IssuedCertificate, NodeEnrollment, NodeRefusal, RenewRequest } from '@capstan/api';
import { isRenewalProof, publicKeyHash } from '@capstan/pki';
import { Unauthenticated } from '../authn/user.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { fresh } from '../registry/list.ts';
import { agentOf } from './agent-certificate.ts';
import type { EnrollmentTokens } from './enrollment-tokens.ts';
import type { NodeIdentities } from './identities.ts';
import { type NodeSigner, requestedKey, type Wanted } from './issuing.ts';
import type { NodeObjects, Warning } from './objects.ts';
import { refused } from './refusal.ts';
import { enroll, renew, type Times, type Transition } from './transitions.ts';

export interface MembershipOptions {
  readonly cache: WatchCache;
  readonly identities: NodeIdentities;
  readonly tokens: EnrollmentTokens;
  readonly objects: NodeObjects;
  /** The present one: it changes when the authority is rotated. */
  readonly signer: () => NodeSigner;
  /** Of certificates, in milliseconds. */
  readonly lifetime: number;
  readonly now: () => Date;
  readonly log: (line: string) => void;
}

/** At most one replay in this time is recorded, in milliseconds, so that the holder of a spent token cannot make the server write. */
const quietAfterReplay = 60_000;

/** How machines become nodes, and stay nodes. */
export class NodeMembership {
  readonly #options: MembershipOptions;
  /** How often a machine was refused, by reason. */
  readonly refusals = new Map<string, number>();

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The first certificate of a machine. A token serves one key, as often as it is asked. */
  async enroll(token: string, { request }: EnrollRequest): Promise<IssuedCertificate> {
    const { cache, tokens, objects } = this.#options;
    const signer = this.#options.signer();
    await fresh(cache);
    const enrollment = tokens.find(token);
    if (enrollment === undefined) throw new Unauthenticated('expected the token of a NodeEnrollment', { fault: 'unknown-token' });
    const { node } = enrollment.spec;
    return this.#counted(async () => {
      signer.check(node);
      const publicKey = requestedKey(request, node);
      const key = publicKeyHash(publicKey);
      const uid = await this.#nodeOf(enrollment, key);
      await this.#consume(enrollment, { key, uid });
      await objects.ensureNamespace(node, uid);
      const consumed = { enrollment: enrollment.metadata.uid!, key };
      const { identity, times } = await this.#change({ node, uid, signer }, (before, now) => enroll(before, consumed, now));
      return issued(signer, { node, uid, publicKey, generation: identity.generation, times });
    });
  }

  /** The next certificate of a node, for whoever proves to have its present key. Works for expired certificates too. */
  async renew({ certificate, request, proof }: RenewRequest): Promise<IssuedCertificate> {
    const { cache, log } = this.#options;
    const signer = this.#options.signer();
    const present = parse(certificate);
    const agent = present && agentOf(present);
    if (present === undefined || agent === undefined)
      throw refused('InvalidRequest', '', 'expected the certificate of a node agent in the field certificate');
    const { node, uid, key: presentKey, generation: presentGeneration } = agent;
    return this.#counted(async () => {
      signer.check(node);
      if (!signer.isOwn(present)) throw refused('InvalidRequest', node, 'the certificate was not issued here');
      const publicKey = requestedKey(request, node);
      if (!isRenewalProof(proof, request, present.publicKey))
        throw refused('InvalidRequest', node, 'the proof is not a signature of the present key');
      await fresh(cache);
      const { identity, times, isLocked } = await this.#change({ node, uid, signer }, (before, now) =>
        renew(before, { presentKey, presentGeneration, key: publicKeyHash(publicKey) }, now),
      );
      if (isLocked) {
        log(`the GPUNode ${node} was locked: ${identity.locked?.reason}`);
        await this.#warn({ node, uid }, { reason: 'NodeLocked', message: identity.locked?.reason ?? '' });
        throw refused('NodeLocked', node);
      }
      return issued(signer, { node, uid, publicKey, generation: identity.generation, times });
    });
  }

  /** The UID of the GPUNode. A new enrolment creates it; one that was used never does, since somebody may have deleted it. */
  async #nodeOf({ spec: { node }, status }: NodeEnrollment, key: string): Promise<string> {
    if (status?.key === undefined) return this.#options.objects.ensureNode(node);
    const known = this.#options.identities.of(node);
    if (status.key === key && known?.uid !== status.nodeUid) throw refused('NodeRemoved', node);
    return status.nodeUid ?? '';
  }

  async #consume(enrollment: NodeEnrollment, { key, uid }: { key: string; uid: string }): Promise<void> {
    const { objects, now, log } = this.#options;
    let isReplay = false;
    let isNews = false;
    await objects.changeEnrollment(enrollment, ({ status = {} }) => {
      isReplay = status.key !== undefined && status.key !== key;
      if (status.key === key) return status;
      const at = now();
      const time = at.toISOString();
      if (!isReplay) return { ...status, key, nodeUid: uid, usedAt: time };
      isNews = status.replay === undefined || at.getTime() - Date.parse(status.replay.at) >= quietAfterReplay;
      return isNews ? { ...status, replay: { key, at: time } } : status;
    });
    if (!isReplay) return;
    const { node } = enrollment.spec;
    const message = `the token of the NodeEnrollment ${enrollment.metadata.name} for the node ${node} was used again, with another key`;
    if (isNews) {
      log(message);
      await this.#warn({ node, uid }, { reason: 'TokenReplayed', message });
    }
    throw refused('TokenReplayed', node);
  }

  /** An Event that cannot be written changes nothing for the machine that asks. */
  async #warn(target: { readonly node: string; readonly uid: string }, warning: Warning): Promise<void> {
    const { objects, log } = this.#options;
    await objects.warn(target, warning).catch((error: unknown) => {
      log(`the event ${warning.reason} of the GPUNode ${target.node} could not be written: ${String(error)}`);
    });
  }

  async #change(
    { signer, ...target }: { readonly node: string; readonly uid: string; readonly signer: NodeSigner },
    transition: (identity: Parameters<typeof renew>[0], times: Times) => Transition,
  ): Promise<{ identity: Extract<Transition, { identity: object }>['identity']; times: Times; isLocked: boolean }> {
    const { objects, now, lifetime } = this.#options;
    const times = { now: now(), expires: new Date(now().getTime() + lifetime) };
    let result: Transition | undefined;
    await objects.changeIdentity(target, (identity) => {
      result = transition(identity, times);
      if (result.kind === 'refuse') throw refused(result.refusal, target.node);
      return result.kind === 'issue' ? { ...result.identity, authority: signer.authorityKey } : result.identity;
    });
    if (result === undefined || result.kind === 'refuse') throw refused('InvalidRequest', target.node);
    return { identity: result.identity, times, isLocked: result.kind === 'lock' };
  }

  async #counted(act: () => Promise<IssuedCertificate>): Promise<IssuedCertificate> {
    try {
      return await act();
    } catch (error) {
      const reason = refusalOf(error);
      if (reason !== undefined) this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
      throw error;
    }
  }
}

function issued(
  signer: NodeSigner,
  { times, ...wanted }: { times: Times } & Pick<Wanted, 'node' | 'uid' | 'publicKey' | 'generation'>,
): IssuedCertificate {
  const { node, generation } = wanted;
  return { node, certificate: signer.issue({ ...wanted, ...times }), authority: signer.authorities, generation };
}

function refusalOf(error: unknown): NodeRefusal | undefined {
  const { status } = error as { status?: { details?: { causes?: { reason?: string }[] } } };
  return status?.details?.causes?.[0]?.reason as NodeRefusal | undefined;
}

function parse(certificate: unknown): X509Certificate | undefined {
  try {
    return new X509Certificate(String(certificate));
  } catch {
    return undefined;
  }
}

import { done, type Result, requeueAfter, TerminalError } from '@capstan/controller';
import { type ParsedRequest, parseCertificateRequest } from '@capstan/pki';
import { conditionOf, type SigningRequest, withCondition } from './request.ts';
import type { Approval, Signer } from './signers.ts';

/** The actions available to the steps. */
export interface CertificateActions {
  /** Whether the requester has the right that stands for an approval. */
  readonly mayHave: (request: SigningRequest, subresource: string) => Promise<boolean>;
  readonly writeApproval: (request: SigningRequest) => Promise<SigningRequest>;
  readonly writeStatus: (request: SigningRequest) => Promise<SigningRequest>;
  /** Returns PEM; undefined if this controller does not sign. */
  readonly sign: ((parsed: ParsedRequest, request: SigningRequest, signer: Signer) => string) | undefined;
}

interface Case {
  request: SigningRequest;
  readonly parsed: ParsedRequest;
  readonly signer: Signer;
}

/** A step ends the reconcile by returning a result. */
type Step = (given: Case, actions: CertificateActions) => Promise<Result | undefined>;

/** In milliseconds. The right may be granted later. */
const askAgain = 60_000;

const steps: readonly Step[] = [approve, sign];

/** Approves and signs a request that is not answered yet, as far as possible. */
export async function reconcileRequest(request: SigningRequest, signers: readonly Signer[], actions: CertificateActions): Promise<Result> {
  const signer = signers.find(({ name }) => name === request.spec.signerName);
  if (signer === undefined || isAnswered(request)) return done;
  const parsed = parseCertificateRequest(Buffer.from(request.spec.request, 'base64').toString('latin1'));
  if (typeof parsed === 'string') throw new TerminalError(`unable to parse csr "${request.metadata.name}": ${parsed}`);
  const given: Case = { request, parsed, signer };
  for (const step of steps) {
    const result = await step(given, actions);
    if (result !== undefined) return result;
  }
  return done;
}

export function isAnswered(request: SigningRequest): boolean {
  const { certificate = '' } = request.status ?? {};
  return certificate !== '' || conditionOf(request, 'Denied') !== undefined || conditionOf(request, 'Failed') !== undefined;
}

async function approve(given: Case, { mayHave, writeApproval }: CertificateActions): Promise<Result | undefined> {
  const { request, parsed, signer } = given;
  if (conditionOf(request, 'Approved') !== undefined) return undefined;
  if (signer.objection(parsed, request.spec.usages ?? []) !== undefined) return done;
  const fitting = signer.approvals.filter(({ forSelf }) => !forSelf || request.spec.username === parsed.commonName);
  for (const { subresource, message } of fitting satisfies readonly Approval[]) {
    if (!(await mayHave(request, subresource))) continue;
    given.request = await writeApproval(withCondition(request, { type: 'Approved', reason: 'AutoApproved', message }));
    return undefined;
  }
  return fitting.length === 0 ? done : requeueAfter(askAgain);
}

async function sign({ request, parsed, signer }: Case, actions: CertificateActions): Promise<Result | undefined> {
  if (actions.sign === undefined) return undefined;
  const objection = signer.objection(parsed, request.spec.usages ?? []);
  if (objection !== undefined) {
    await actions.writeStatus(withCondition(request, { type: 'Failed', reason: 'SignerValidationFailure', message: objection }));
    return undefined;
  }
  const certificate = Buffer.from(actions.sign(parsed, request, signer)).toString('base64');
  await actions.writeStatus({ ...request, status: { ...request.status, certificate } });
  return undefined;
}

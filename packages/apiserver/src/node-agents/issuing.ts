import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { nodeAgentGroup, nodeAgentUser } from '@capstan/api';
import { issueCertificate, type ParsedRequest, type Pki, parseCertificateRequest, publicKeyHash, trustedAuthorities } from '@capstan/pki';
import { generationUnit } from './agent-certificate.ts';
import { refused } from './refusal.ts';

/** For machines whose clocks are behind. */
const backdate = 5 * 60 * 1000;

export interface Wanted {
  readonly node: string;
  /** The UID of the GPUNode. */
  readonly uid: string;
  /** The generation of the node's identity. */
  readonly generation: number;
  readonly publicKey: KeyObject;
  readonly now: Date;
  readonly expires: Date;
}

/** Signs the certificates of node agents with the signer below the server's authority, whose key the server holds. */
export class NodeSigner {
  readonly #signer: { readonly key: KeyObject; readonly certificate: X509Certificate; readonly pem: string } | undefined;
  /** Those whose certificates are renewed. */
  readonly #known: readonly X509Certificate[];
  /** The hash of the key of the authority above the signer. */
  readonly authorityKey: string;
  /** PEM of the authorities that agents verify servers with. */
  readonly authorities: string;

  constructor(pki: Pki) {
    const { authority, signer, rotation } = pki;
    this.authorities = trustedAuthorities(pki);
    this.authorityKey = publicKeyHash(new X509Certificate(authority.certificate).publicKey);
    const known = [signer?.certificate, rotation.otherSigner, ...rotation.abandonedSigners];
    this.#known = known.filter((pem) => pem !== undefined).map((pem) => new X509Certificate(pem));
    this.#signer = signer && {
      key: createPrivateKey(signer.key),
      certificate: new X509Certificate(signer.certificate),
      pem: signer.certificate,
    };
  }

  /** The certificate in PEM, followed by that of the signer. */
  issue({ node, uid, generation, publicKey, now, expires }: Wanted): string {
    if (this.#signer === undefined) throw refused('NoSigner', node);
    const certificate = issueCertificate(
      {
        commonName: nodeAgentUser(node),
        organizations: [nodeAgentGroup],
        organizationalUnits: [generationUnit(generation), uid],
        publicKey,
        notBefore: new Date(now.getTime() - backdate),
        notAfter: expires,
        usage: 'client',
      },
      this.#signer,
    );
    return certificate + this.#signer.pem;
  }

  /** Whether a certificate was issued here, whether or not it has expired: by the signer, or by one that it replaced or was replaced by in a rotation. */
  isOwn(certificate: X509Certificate): boolean {
    return this.#known.some((signer) => certificate.checkIssued(signer) && certificate.verify(signer.publicKey));
  }

  /** Fails early on a server that cannot sign. */
  check(node: string): void {
    if (this.#signer === undefined) throw refused('NoSigner', node);
  }
}

/** The public key of a certificate request for the agent of a node. The request is signed with that key, so its sender has it. */
export function requestedKey(request: unknown, node: string): KeyObject {
  const parsed: ParsedRequest | string =
    typeof request === 'string' ? parseCertificateRequest(request) : 'expected a certificate request in PEM in the field request';
  if (typeof parsed === 'string') throw refused('InvalidRequest', node, parsed);
  const { commonName, organizations, publicKey } = parsed;
  // A machine that enrols does not know yet which node it becomes, and leaves the subject empty.
  const isOpen = commonName === '' && organizations.length === 0;
  if (!isOpen && (commonName !== nodeAgentUser(node) || organizations.length !== 1 || organizations[0] !== nodeAgentGroup))
    throw refused('InvalidRequest', node, `expected the subject O=${nodeAgentGroup}, CN=${nodeAgentUser(node)}`);
  if (publicKey.asymmetricKeyType !== 'ec') throw refused('InvalidRequest', node, 'expected an EC key');
  return publicKey;
}

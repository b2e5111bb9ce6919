/** The certificate of the authority, in PEM, for everybody. */
export const authorityPath = '/capstan/authority';
/** Below it, the certificate of the authority with this SHA-256, as DER: programs without a parser can compare the hash of the bytes. */
export const authorityByHashPath = '/capstan/authority/';
/** The API servers of the installation, for node agents. */
export const serversPath = '/capstan/servers';
export const enrollPath = '/capstan/nodes/enroll';
export const renewPath = '/capstan/nodes/renew';

/** Body of `POST /capstan/nodes/enroll`, with the token as bearer. */
export interface EnrollRequest {
  /** A certificate request in PEM. */
  readonly request: string;
}

/** Body of `POST /capstan/nodes/renew`. It proves itself, so it needs no client certificate, and works when that has expired. */
export interface RenewRequest {
  /** The present certificate in PEM. */
  readonly certificate: string;
  /** A certificate request for a new key, in PEM. */
  readonly request: string;
  /** The signature of the present key over the request, in base64. */
  readonly proof: string;
}

/** Response of both. */
export interface IssuedCertificate {
  readonly node: string;
  /** PEM: the certificate of the node, and that of its signer. */
  readonly certificate: string;
  /** PEM: whom to trust from now on. */
  readonly authority: string;
  /** Counts the keys of the node. */
  readonly generation: number;
}

/** Why a node gets no certificate: the reason of the first cause in the details of the Status. */
export type NodeRefusal =
  /** The token was used with another key. */
  | 'TokenReplayed'
  /** Two machines have used the same identity. An owner has to enrol the node again. */
  | 'NodeLocked'
  /** The GPUNode was deleted. */
  | 'NodeRemoved'
  /** The key is neither the current one nor the one before it. */
  | 'KeyReplaced'
  /** The request is malformed, or its proof is wrong. */
  | 'InvalidRequest'
  /** This server holds no key to sign with. */
  | 'NoSigner'
  /** The kinds of the fleet are not served yet. Try again. */
  | 'NotInstalled'
  /** The namespace of a former node with the same name is still being deleted. Try again. */
  | 'NamespaceBusy';

/** Response of `GET /capstan/servers`. */
export interface ServerList {
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  /** The version of the server that answers. Absent in old servers. */
  readonly version?: string;
  /** The oldest version of agents that it works with. */
  readonly oldestAgent?: string;
}

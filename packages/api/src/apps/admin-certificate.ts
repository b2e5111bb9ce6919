/** The subresource of instances that issues certificates of the cluster's own authority. Creating it is a permission of its own. */
export const adminCertificateSubresource = 'admincertificate';

/** Seconds: how long a certificate is valid if the request does not say, and the limits of that. */
export const adminCertificateLife = { usual: 3_600, least: 600, most: 86_400 } as const;

/** The body of a request for a certificate, and with `status` the response to it. */
export interface AdminCertificate {
  readonly spec: {
    /** PKCS #10 in PEM. Its subject is the name that the user has in the cluster, in the group of its administrators. */
    readonly request: string;
    readonly expirationSeconds?: number;
  };
  readonly status?: {
    readonly certificate: string;
    /** PEM of the authority of the cluster's API. */
    readonly authority: string;
    /** Address of the API of the cluster, in the network of its nodes. */
    readonly server: string;
  };
}

/** Names that begin with `system:` belong to each cluster: an account of the platform must not become one of the cluster with the same name. */
export function nameInCluster(user: string): string {
  return user.startsWith('system:') ? `capstan:${user}` : user;
}

/** Who our service account tokens are from and, when nobody says otherwise, for. */
export const issuer = 'https://kubernetes.default.svc.cluster.local';
/** Whom tokens must be meant for: this server, by its own name or by the one that kcp's clients know. */
export const audiences: readonly string[] = [issuer, 'https://kcp.default.svc'];

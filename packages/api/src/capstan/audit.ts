/** On an audit event: the id of the workspace that the request was for, or `*`. Absent if the request was rejected before its workspace was known. */
export const auditWorkspaceAnnotation = 'tenancy.kcp.io/workspace';

/** On the audit event that stands for many denied requests: their number, and what they have in common. */
export const auditRepeatedAnnotation = 'capstan.dev/repeated';
export const auditAlikeAnnotation = 'capstan.dev/repeated-alike';

/** The path at which audit events are queried: of all workspaces in the root workspace, and of one in any other. */
export const auditPath = '/capstan/audit';

/** On an object of the platform's kinds: the user who created it. */
export const createdByAnnotation = 'capstan.dev/created-by';
/** On an object of the platform's kinds: the user who last asked for another spec. */
export const requestedByAnnotation = 'capstan.dev/requested-by';

/** An event of the audit log, in the format of `audit.k8s.io/v1`, as far as our own clients read it. */
export interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The answer to a query, newest events first. With `continue` there may be more, even if it has no items. The events of `missingServers`, which did not
 * answer, are not among them.
 */
export interface AuditEventList {
  readonly kind: 'EventList';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly metadata: { readonly continue?: string };
  readonly missingServers?: readonly string[];
  readonly items: readonly AuditEvent[];
}

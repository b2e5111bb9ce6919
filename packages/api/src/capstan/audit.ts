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

export type { DenialLimits } from './denials.ts';
export type { AuditedRequest } from './event.ts';
export { type AuditLog, type AuditLogOptions, type AuditMode, auditLog } from './log.ts';
export { type AuditPolicy, type AuditRule, defaultPolicy, type Level, type Recording, type Stage } from './policy.ts';
export { AuditPolicyError, parseAuditPolicy } from './policy-file.ts';

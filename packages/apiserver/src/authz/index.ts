export type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';
export { type RuleResolver, type RuleSet, rbacAuthorizer, superuserGroup } from './authorizer.ts';
export { checkNoEscalation, type EscalationRules, type RoleWrite } from './escalation.ts';
export { type MissingRole, printMissing, type RoleRef, rbacGroup, rbacResources, type Subject } from './resolver.ts';
export { settled } from './settled.ts';
export { forbidden } from './wording.ts';

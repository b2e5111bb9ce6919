import type { Strategy } from '../strategy.ts';
import { mutatingadmissionpolicies, mutatingadmissionpolicybindings } from './mutating-policies.ts';
import { validatingadmissionpolicies, validatingadmissionpolicybindings } from './policies.ts';
import { mutatingwebhookconfigurations, validatingwebhookconfigurations } from './webhooks.ts';

const group = 'admissionregistration.k8s.io';

export const admissionregistrationStrategies: ReadonlyMap<string, Strategy> = new Map([
  [`${group}/validatingwebhookconfigurations`, validatingwebhookconfigurations],
  [`${group}/mutatingwebhookconfigurations`, mutatingwebhookconfigurations],
  [`${group}/validatingadmissionpolicies`, validatingadmissionpolicies],
  [`${group}/validatingadmissionpolicybindings`, validatingadmissionpolicybindings],
  [`${group}/mutatingadmissionpolicies`, mutatingadmissionpolicies],
  [`${group}/mutatingadmissionpolicybindings`, mutatingadmissionpolicybindings],
]);

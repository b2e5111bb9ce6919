import { mutatingadmissionpolicies, mutatingadmissionpolicybindings } from './admissionregistration/mutating-policies.ts';
import { validatingadmissionpolicies, validatingadmissionpolicybindings } from './admissionregistration/policies.ts';
import { mutatingwebhookconfigurations, validatingwebhookconfigurations } from './admissionregistration/webhooks.ts';
import type { Strategy } from './strategy.ts';

const group = 'admissionregistration.k8s.io';

export const admissionregistrationStrategies: ReadonlyMap<string, Strategy> = new Map([
  [`${group}/validatingwebhookconfigurations`, validatingwebhookconfigurations],
  [`${group}/mutatingwebhookconfigurations`, mutatingwebhookconfigurations],
  [`${group}/validatingadmissionpolicies`, validatingadmissionpolicies],
  [`${group}/validatingadmissionpolicybindings`, validatingadmissionpolicybindings],
  [`${group}/mutatingadmissionpolicies`, mutatingadmissionpolicies],
  [`${group}/mutatingadmissionpolicybindings`, mutatingadmissionpolicybindings],
]);

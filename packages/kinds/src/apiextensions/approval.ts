import { type FieldError, FieldPath, fieldError, fieldsOf, type KubeObject, textOf } from '@capstan/machinery';

const approvalAnnotation = 'api-approved.kubernetes.io';
const see = 'see https://github.com/kubernetes/enhancements/pull/1111';

export type ApprovalState = 'missing' | 'bypassed' | 'approved' | 'invalid';

/** Whether the group belongs to the Kubernetes community. */
export function isProtected(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some((owner) => group === owner || group.endsWith(`.${owner}`));
}

/** Reads the approval annotation of a definition in a protected group. */
export function approvalOf({ metadata }: KubeObject): { state: ApprovalState; reason: string } {
  const text = metadata.annotations?.[approvalAnnotation] ?? '';
  const must = `protected groups must have approval annotation ${fieldError.quote(approvalAnnotation)}`;
  if (text === '') return { state: 'missing', reason: `${must}, ${see}` };
  if (text.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${fieldError.quote(text)}` };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]+/i.test(text)) return { state: 'approved', reason: `approved in ${text}` };
  return { state: 'invalid', reason: `${must} with either a URL or a reason starting with "unapproved", ${see}` };
}

/** Rejects definitions without a valid approval. A definition whose approval state does not change may be updated. */
export function approvalErrors(definition: KubeObject, old: KubeObject | undefined): FieldError[] {
  if (!isProtected(textOf(fieldsOf(definition['spec'])['group']))) return [];
  const { state, reason } = approvalOf(definition);
  if (old !== undefined && approvalOf(old).state === state) return [];
  const at = FieldPath.of('metadata', 'annotations').key(approvalAnnotation);
  if (state === 'missing') return [fieldError.required(at, reason)];
  return state === 'invalid' ? [fieldError.invalid(at, definition.metadata.annotations?.[approvalAnnotation] ?? '', reason)] : [];
}

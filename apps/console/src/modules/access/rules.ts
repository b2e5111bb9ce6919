/** A rule of a SelfSubjectRulesReview. */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

const writing = new Set(['create', 'update', 'patch', '*']);
/** Everybody may ask what they may do. */
const questions = new Set(['authorization.k8s.io', 'authentication.k8s.io']);

/** Whether the rules allow to create or change objects of some kind. */
export const allowsWriting = (rules: readonly ResourceRule[]): boolean =>
  rules.some(
    ({ verbs, apiGroups = [], resources = [] }) =>
      verbs.some((verb) => writing.has(verb)) &&
      apiGroups.some((group) => !questions.has(group)) &&
      resources.some((resource) => !resource.includes('/')),
  );

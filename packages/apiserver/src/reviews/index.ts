export {
  type AccessReviewContext,
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './access.ts';
export { selfSubjectReview, tokenReview } from './authentication.ts';

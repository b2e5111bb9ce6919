export type { FieldError, FieldErrorType } from './field/error.ts';
export * as fieldError from './field/error.ts';
export { FieldPath } from './field/path.ts';
export * from './json.ts';
export { builtinGroups, builtinResources, builtinTypes, type TypeTable } from './schema/table.ts';
export type { GroupInfo, ResourceInfo, SubresourceInfo } from './schema/table-format.ts';
export type * from './schema/type.ts';
export * as status from './status/status.ts';
export { type GroupKind, type GroupResource, type Status, type StatusCause, type StatusDetails, StatusError } from './status/status.ts';

import { type AllowedAction, type AppConstraint, type AppInstance, commonOperations } from '@capstan/api';

/** Operations that can be done now on a member, or on the whole instance. */
export const offeredActions = ({ status }: AppInstance, member: string | undefined): readonly AllowedAction[] =>
  (status?.allowedActions ?? []).filter((one) => one.member === member);

const common: ReadonlySet<string> = new Set(commonOperations);

/** Whether only the app says which parameters an operation has. Those of every app have none. */
export const needsApp = (action: string): boolean => !common.has(action);

/** Refusals that are no news on a button: people see that an instance is paused, is being removed or is not deployed yet. */
const obvious: ReadonlySet<string> = new Set(['Paused', 'Removing', 'NotDeployed']);

/** Operations that are refused now on a member, or on the whole instance, for a reason that people may want to know. */
export const refusedActions = ({ status }: AppInstance, member: string | undefined): readonly AppConstraint[] =>
  (status?.constraints ?? []).filter((one) => one.member === member && !obvious.has(one.reason));

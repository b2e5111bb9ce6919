/** On the task of a step: the UID of its operation. */
export const operationLabel = 'apps.capstan.dev/operation';
/** On the operation that removes an instance: the UID of the instance, which it outlives if something is left. */
export const recordLabel = 'apps.capstan.dev/removes';

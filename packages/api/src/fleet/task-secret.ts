/** Marks a Secret in the namespace of a node as one for tasks. Agents use no other. */
export const taskSecretLabel = 'fleet.capstan.dev/task-secret';

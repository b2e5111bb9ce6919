/**
 * Represents, in rules, every kind that a workspace has bound, since no role can name future kinds. Users must not write the status of
 * bound objects, which belongs to the provider.
 */
export const boundObjects = { group: 'workspaces.capstan.dev', resource: 'boundobjects' } as const;

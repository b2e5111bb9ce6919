export const definitionType = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
export const secretType = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
export const namespaceType = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

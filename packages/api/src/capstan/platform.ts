/** The workspace of the platform's own objects: exports of products, catalogs, machines. */
export const platformWorkspace = 'root:platform';

/**
 * On a WorkspaceType: the kinds of Kubernetes that its workspaces serve beside those that every workspace has, such as `pods` or
 * `pods,deployments.apps`; `*` for all. Types inherit them from those that they extend.
 */
export const builtInKindsAnnotation = 'capstan.dev/built-in-kinds';

/** On an object that the platform writes again at the next start: the hash of each part as it was last written. Parts that differ belong to the owner. */
export const appliedAnnotation = 'capstan.dev/applied';

/** The namespace in root:platform of the accounts of products, and of the ConfigMap that says how far each of them is installed. */
export const productsNamespace = 'capstan-products';

import { type ClusterId, nodeOfNamespace, productsNamespace, taskSecretLabel } from '@capstan/api';
import { forbidden } from '../../admission/forbidden.ts';
import { homeOf, parseServiceAccountName } from '../../authn/service-account.ts';
import { type AdmissionPlugin, type AdmissionRequest, isOf } from '../../registry/admission.ts';

const secrets = { group: '', resource: 'secrets' };

/**
 * Limits the accounts of products to Secrets of their own in root:platform: those in the namespace with the product's name, and in the namespaces of nodes those for single tasks. A role
 * cannot say that: namespaces of nodes come and go, and roles know no labels.
 */
export function productSecrets({ platform }: { readonly platform: () => ClusterId | undefined }): AdmissionPlugin {
  const check = (request: AdmissionRequest): void => {
    if (!isOf(request, secrets) || request.operation === 'CONNECT') return;
    const { context, namespace, object, old } = request;
    const account = parseServiceAccountName(context.user.name);
    if (account?.namespace !== productsNamespace || context.cluster !== platform() || homeOf(context.user) !== context.cluster) return;
    if (namespace === account.name) return;
    const isForTasks = [object, old].every((secret) => secret === undefined || secret.metadata.labels?.[taskSecretLabel] !== undefined);
    if (nodeOfNamespace(namespace) === undefined || !isForTasks)
      throw forbidden(
        request,
        `the product ${account.name} may only write Secrets in the namespace ${account.name}, and those with the label ${taskSecretLabel} in the namespaces of nodes`,
      );
  };
  return { name: 'capstan.dev/ProductSecrets', validate: check };
}

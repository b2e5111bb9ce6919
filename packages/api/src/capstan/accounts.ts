/** The user that `capstan controller-manager` authenticates as. It may only lead and act as the accounts of its controllers. */
export const controllerManagerUser = 'system:capstan-controller-manager';

/** The user that the API server is to kubelets. */
export const kubeletClientUser = 'kube-apiserver-kubelet-client';

/** The group of node agents. The certificate that the signer `capstan.dev/node-agent` issues names it as the only organization. */
export const nodeAgentGroup = 'system:capstan-node-agents';

/** The group of bootstrap tokens with which kubelets may request their first certificate. */
export const kubeletBootstrappersGroup = 'system:bootstrappers:capstan:kubelets';
/** The user that `platform-controllers` authenticates as. It installs what products need in the platform's workspace, and runs their controllers. */
export const platformControllersUser = 'system:capstan:platform-controllers';

/** The user that `capstan controller-manager` authenticates as. It may only lead and act as the accounts of its controllers. */
export const controllerManagerUser = 'system:capstan-controller-manager';

/** The user that the API server is to kubelets. */
export const kubeletClientUser = 'kube-apiserver-kubelet-client';

/** The group of bootstrap tokens with which kubelets may request their first certificate. */
export const kubeletBootstrappersGroup = 'system:bootstrappers:capstan:kubelets';
/** The user that `platform-controllers` authenticates as. It installs what products need in the platform's workspace, and runs their controllers. */
export const platformControllersUser = 'system:capstan:platform-controllers';

/** The user and the group of API servers when they ask each other. */
export const apiServerUser = 'system:capstan-apiserver';
export const apiServerGroup = 'system:capstan-apiservers';

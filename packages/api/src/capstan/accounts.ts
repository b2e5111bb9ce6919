/** The user that `capstan controller-manager` authenticates as. It may only lead and act as the accounts of its controllers. */
export const controllerManagerUser = 'system:capstan-controller-manager';

import { controllerManagerUser } from '@capstan/api';
import { controllerManagerRole } from './own-roles.ts';
import { type RuleTable, recordEvents } from './rule-text.ts';

/** Roles by namespace. */
export const namespaceRoles: Readonly<Record<string, RuleTable>> = {
  'kube-public': {
    'system:controller:bootstrap-signer': ['read configmaps', 'update configmaps #cluster-info', recordEvents],
  },
  'kube-system': {
    'extension-apiserver-authentication-reader': ['read configmaps #extension-apiserver-authentication'],
    'system::leader-locking-kube-controller-manager': [
      'watch configmaps',
      'get,update configmaps #kube-controller-manager',
      'create,get,list,update,watch leases @coordination.k8s.io',
      'create,get,list,update,watch leasecandidates @coordination.k8s.io',
    ],
    'system::leader-locking-kube-scheduler': [
      'watch configmaps',
      'get,update configmaps #kube-scheduler',
      'create,get,list,update,watch leases @coordination.k8s.io',
      'create,get,list,update,watch leasecandidates @coordination.k8s.io',
    ],
    [controllerManagerUser]: controllerManagerRole,
    'system:controller:bootstrap-signer': ['read secrets'],
    'system:controller:cloud-provider': ['create,get,list,watch configmaps'],
    'system:controller:token-cleaner': ['delete,get,list,watch secrets', recordEvents],
  },
};

import type { KindType } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

export const requestType: KindType = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
  namespaced: false,
  kind: 'CertificateSigningRequest',
};

export interface RequestCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
}

export interface SigningRequest extends KubeObject {
  spec: {
    /** Base64 of PEM. */
    request: string;
    signerName: string;
    usages?: string[];
    expirationSeconds?: number;
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
  };
  status?: { conditions?: readonly RequestCondition[]; certificate?: string };
}

export function conditionOf({ status }: SigningRequest, type: string): RequestCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');
}

export function withCondition(request: SigningRequest, condition: Omit<RequestCondition, 'status' | 'lastUpdateTime'>): SigningRequest {
  const conditions = [...(request.status?.conditions ?? []), { ...condition, status: 'True' }];
  return { ...request, status: { ...request.status, conditions } };
}

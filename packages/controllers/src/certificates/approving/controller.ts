import type { Controller } from '@capstan/controller';
import { answering, type CertificateSettings } from '../answering.ts';
import type { SigningRequest } from '../request.ts';
import { kubernetesSigners } from '../signers.ts';

export function csrApproving({ concurrency }: CertificateSettings): Controller<SigningRequest> {
  return answering('csr-approving', { signers: kubernetesSigners, signing: undefined, concurrency });
}

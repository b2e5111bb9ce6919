import type { Controller } from '@capstan/controller';
import { answering, type CertificateSettings } from '../answering.ts';
import type { SigningRequest } from '../request.ts';
import { kubernetesSigners } from '../signers.ts';

export function csrSigning({ signing, concurrency }: CertificateSettings): Controller<SigningRequest> {
  const signers = kubernetesSigners.map((signer) => ({ ...signer, approvals: [] }));
  return answering('csr-signing', { signers: signing === undefined ? [] : signers, signing, concurrency });
}

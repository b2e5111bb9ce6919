import type { Controller } from '@capstan/controller';
import { answering, type CertificateSettings } from '../answering.ts';
import type { SigningRequest } from '../request.ts';
import { platformSigners } from '../signers.ts';

export function nodeAgentCertificates({ signing, concurrency }: CertificateSettings): Controller<SigningRequest> {
  return answering('node-agent-certificates', { signers: platformSigners, signing, concurrency });
}

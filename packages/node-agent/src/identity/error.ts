import type { NodeRefusal } from '@capstan/api';

/**
 * - `refused`: the control plane does not accept this machine. Only a new enrolment helps; `refusal` says why.
 * - `untrusted`: the server's authority is not the pinned one. Nothing was sent to it.
 * - `unreachable`: no answer, or one that says that it is worth trying again.
 */
export type AgentFault = 'refused' | 'untrusted' | 'unreachable';

export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: AgentFault;
  readonly refusal: NodeRefusal | 'Unauthorized' | undefined;

  constructor(code: AgentFault, message: string, { refusal, ...options }: ErrorOptions & { refusal?: NodeRefusal | 'Unauthorized' } = {}) {
    super(message, options);
    this.code = code;
    this.refusal = refusal;
  }
}

import { type Required, type TextOptions, text } from '../definition/schema.ts';

export const fleetGroup = 'fleet.capstan.dev';

/** The path of a workspace. Nothing is looked up: the workspace need not exist yet. */
export function workspacePath(description: string): Required<string> {
  return text(description, { minLength: 1, maxLength: 1024, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$' });
}

/** A SHA-256 in hexadecimal digits. */
export function keyHash(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { minLength: 64, maxLength: 64, pattern: '^[0-9a-f]{64}$', ...options });
}

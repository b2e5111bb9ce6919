import { type Required, type TextOptions, text } from '../definition/schema.ts';

export const fleetGroup = 'fleet.capstan.dev';

/** A SHA-256 in hexadecimal digits. */
export function keyHash(description: string, options: Pick<TextOptions, 'rules'> = {}): Required<string> {
  return text(description, { minLength: 64, maxLength: 64, pattern: '^[0-9a-f]{64}$', ...options });
}

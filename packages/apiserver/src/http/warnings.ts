/** The maximum number of characters of all warnings of a response together… */
export const mostInWarnings = 4096;
/** …beyond which each is truncated to this length. */
export const longestWarning = 256;

/** The values of the `Warning` headers of a response. Tenants may control their texts, and must not be able to inject anything else. */
export function warningHeaders(messages: readonly string[]): string[] {
  const lengths = messages.map((message) => message.length);
  const isTooMuch = lengths.reduce((sum, length) => sum + length, 0) > mostInWarnings;
  if (!isTooMuch) return messages.map(warningHeader);
  // The rest of them may still be too much.
  const kept: string[] = [];
  for (let length = 0, index = 0; index < messages.length && length < mostInWarnings; index++) {
    const message = messages[index]!.slice(0, longestWarning);
    length += message.length;
    kept.push(warningHeader(message));
  }
  return kept;
}

/** Encoded as UTF-8, which Go writes and reads; headers cannot contain control characters. */
function warningHeader(message: string): string {
  const quoted = message.replace(/[\\"]/g, (character) => `\\${character}`).replace(/\p{Cc}+/gu, ' ');
  return `299 - "${Buffer.from(quoted.toWellFormed()).toString('latin1')}"`;
}

/** All warnings of an answer together may have so many characters… */
export const mostInWarnings = 4096;
/** …and when they have more, each is cut here. */
export const longestWarning = 256;

/** The values of the `Warning` headers of an answer. Their texts may be a tenant's, who must not be able to say anything else with them. */
export function warningHeaders(messages: readonly string[]): string[] {
  const lengths = messages.map((message) => message.length);
  const isTooMuch = lengths.reduce((sum, length) => sum + length, 0) > mostInWarnings;
  return messages.map((message) => warningHeader(isTooMuch ? message.slice(0, longestWarning) : message));
}

/** As UTF-8, which is what Go writes and reads; a header has no place for control characters. */
function warningHeader(message: string): string {
  const quoted = message.replace(/[\\"]/g, (character) => `\\${character}`).replace(/\p{Cc}+/gu, ' ');
  return `299 - "${Buffer.from(quoted.toWellFormed()).toString('latin1')}"`;
}

/** Messages repeat what clients sent, which may be megabytes. Nobody reads so much, and logs must not grow with it. */
export const longestMessage = 16 * 1024;

/** Cuts a text that is too long, and says how much is missing. */
export function shorten(text: string, most = longestMessage): string {
  if (text.length <= most) return text;
  const start = startOf(text, most);
  return `${start}… (${text.length - start.length} more characters)`;
}

/** The start of a text, without a character that is cut in two. */
export function startOf(text: string, most: number): string {
  return text.slice(0, isHighSurrogate(text.charCodeAt(most - 1)) ? most - 1 : most);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

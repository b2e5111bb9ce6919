/** Keys and values, each followed by NUL: the format that the launcher and the agent share. */
export type Pair = readonly [key: string, value: string | number];

export function encodePairs(pairs: readonly Pair[]): Buffer {
  return Buffer.from(pairs.map(([key, value]) => `${key}\0${value}\0`).join(''));
}

export function decodePairs(text: string): Map<string, string> {
  const words = text.split('\0');
  const found = new Map<string, string>();
  for (let index = 0; index + 1 < words.length; index += 2) found.set(words[index]!, words[index + 1]!);
  return found;
}

/** The URL cannot be read at all: percent signs that lead nowhere, or a path that tries to leave its place. */
export class MalformedUrl extends Error {
  override readonly name = 'MalformedUrl';
}

/** The URL cannot be parsed: it has invalid escapes, or a path that tries to leave its place. */
export class MalformedUrl extends Error {
  override readonly name = 'MalformedUrl';
}

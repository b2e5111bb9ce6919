/** Whether a path stays below the one that it is added to, however often it is decoded. */
export function staysBelow(path: string): boolean {
  if (path.includes('\\') || path.includes('#')) return false;
  return path.split('/').every((segment) => {
    const plain = decoded(segment);
    return plain !== undefined && plain !== '.' && plain !== '..' && !/[\\/]\.\.?(?:[\\/]|$)|^\.\.?[\\/]/.test(plain);
  });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Tells for each of many values, one after the other, whether it came before. To search the list each time would take the square of its length. */
export function repeats<Value>(): (value: Value) => boolean {
  const seen = new Set<Value>();
  return (value) => {
    const before = seen.size;
    return seen.add(value).size === before;
  };
}

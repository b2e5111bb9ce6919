/* oxlint-disable no-control-regex -- Control characters are what is looked for. */

/** Colours, cursor movements, titles of windows and the like: ECMA-48 sequences with one or two bytes of introduction. */
const sequences =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A line of output as plain text: escape sequences are gone, and of a progress bar that overwrote itself the last state remains. */
export function cleanLine(line: string): string {
  const plain = line.replace(sequences, '');
  const end = plain.endsWith('\r') ? plain.length - 1 : plain.length;
  const start = plain.lastIndexOf('\r', end - 1) + 1;
  return plain.slice(start, end).replace(controls, '');
}

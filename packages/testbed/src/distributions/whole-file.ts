import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file that others never see half-written, even if this program is killed. */
export function writeWhole(path: string, text: string, mode = 0o644): void {
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
}

import { definedKinds } from '@capstan/api';
import { jsonFiles, writeFolders } from './folders.ts';
import { brokenPromises, releasedFiles, releasedFolder } from './released.ts';

/** Keeps the schemas of the kinds as those of the last release. Throws if they break what was released before. */
export function recordSchemas(): void {
  const broken = brokenPromises(jsonFiles(releasedFolder), definedKinds);
  if (broken.length > 0) throw new Error(`expected schemas that accept all stored objects, found:\n${broken.join('\n')}`);
  writeFolders([releasedFolder], new Map([...releasedFiles(definedKinds)].map(([name, text]) => [`${releasedFolder}/${name}`, text])));
}

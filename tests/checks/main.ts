import { resolve } from 'node:path';
import { checkLayers } from './layers.ts';

const faults = checkLayers(resolve(import.meta.dirname, '../..'));
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

import { resolve } from 'node:path';
import { checkFacts } from './facts.ts';
import { checkLayers } from './layers.ts';
import { checkShape } from './shape.ts';

const root = resolve(import.meta.dirname, '../..');
const faults = [...checkLayers(root), ...checkShape(root), ...checkFacts(root)];
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { apiClient } from './api-client.ts';
import { deriveResources } from './derive-resources.ts';
import { TypeDeriver } from './derive-types.ts';
import { GoSources } from './go-source.ts';
import { fetchSchemas } from './open-api.ts';

/**
 * Writes the tables of built-in kinds from a running kube-apiserver and the API modules of the same version:
 *
 *     node packages/machinery/scripts/derive-kinds.ts --kubeconfig FILE --proto-dir DIR [--module-version v0.34.1] [--check]
 *
 * The server must also serve optional APIs: start it with --feature-gates=MutatingAdmissionPolicy=true and
 * --runtime-config=admissionregistration.k8s.io/v1beta1=true. DIR holds the modules api, apimachinery, apiextensions-apiserver and
 * kube-aggregator, as in Go's module cache (`…/mod/k8s.io`).
 * Only names, types, numbers and tags are copied, no prose. --check writes nothing and fails if the files differ from the derived tables.
 */
const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    'proto-dir': { type: 'string' },
    'module-version': { type: 'string', default: 'v0.34.1' },
    check: { type: 'boolean', default: false },
  },
});
if (values.kubeconfig === undefined || values['proto-dir'] === undefined) {
  throw new Error('expected --kubeconfig FILE and --proto-dir DIR');
}

const get = apiClient(values.kubeconfig);
const schemas = await fetchSchemas(get);
const types = new TypeDeriver(new GoSources(values['proto-dir'], values['module-version']), schemas).derive();
write('types.json', types.types.length, { ...types, types: undefined }, types.types);
const { groups, resources } = await deriveResources(get, schemas);
write('resources.json', resources.length, { groups }, resources);

/** One row per line keeps the diff for a new Kubernetes version readable. */
function write(file: string, count: number, head: object, rows: readonly unknown[]): void {
  const key = file === 'types.json' ? 'types' : 'resources';
  const text = `${JSON.stringify(head).slice(0, -1)},"${key}":[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]}\n`;
  const target = new URL(`../src/generated/${file}`, import.meta.url);
  if (!values.check) writeFileSync(target, text);
  else if (readFileSync(target, 'utf8') !== text)
    throw new Error(`${file} does not match the server and the modules: derive it again and commit it`);
  process.stdout.write(`${file}: ${count} ${key}, ${text.length} bytes\n`);
}

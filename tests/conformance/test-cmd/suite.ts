import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { output, requireExactTool } from '@capstan/testbed';

/** Kubernetes' shell suite of kubectl, laid out where it can be run and may write. */
export interface Suite {
  readonly directory: string;
  readonly functions: readonly string[];
  /** Who its administrator is. */
  readonly tokens: string;
  /** The authority whose clients are known, and which signs. */
  readonly authority: { readonly certificate: string; readonly key: string };
}

const pinned = resolve(import.meta.dirname, '../../../packages/testbed/tools/kubernetes');
const folders = ['hack', 'test/cmd', 'test/fixtures', 'test/e2e/testing-manifests', 'third_party/forked/shell2junit'];
const script = 'test/cmd/legacy-script.sh';

const temporary = '$' + '{TMPDIR}/';

/**
 * What the suite takes for granted and is otherwise here: where addresses of services come from, that the network is there, that files in /tmp are its own, and that
 * whoever is unknown is refused as such, not as somebody who may do nothing.
 */
const changes: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'hack/testdata/service-revision2.yaml': [['10.0.0.12', '10.96.0.12']],
  'hack/testdata/kubernetes-service.yaml': [['10.0.0.1', '10.96.0.1']],
  'test/cmd/apply.sh': [['10.0.0.12', '10.96.0.12']],
  'test/cmd/authentication.sh': [['output4}" =~ "Unauthorized"', 'output4}" =~ "Forbidden"']],
  'test/cmd/core.sh': [['/tmp/tmp-', `${temporary}tmp-`]],
  'test/cmd/generic-resources.sh': [
    ['/tmp/tmp-', `${temporary}tmp-`],
    ['https://raw.githubusercontent.com/kubernetes/kubernetes/master/', ''],
  ],
  [script]: [['/tmp/record_command_canary', `${temporary}record_command_canary`]],
};

/** Copies what is needed from the module that kubectl is built from. */
export async function layOut(directory: string): Promise<Suite> {
  await output('go', ['mod', 'download', 'k8s.io/kubernetes'], { directory: pinned, timeout: 10 * 60_000 });
  const module = (await output('go', ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'], { directory: pinned })).trim();
  for (const folder of folders) {
    const to = join(directory, folder);
    mkdirSync(dirname(to), { recursive: true });
    await output('cp', ['-R', join(module, folder), to]);
  }
  // The module cache is read-only, and so is what is copied from it.
  await output('chmod', ['-R', 'u+w', directory]);
  // It keeps nobody's right to run a file either, and kubectl looks for plugins by it.
  await output('chmod', ['-R', 'u+x', join(directory, 'test/fixtures/pkg/kubectl/plugins')]);
  for (const [name, replacements] of Object.entries(changes)) {
    const file = join(directory, name);
    writeFileSync(
      file,
      replacements.reduce((text, [from, to]) => text.replaceAll(from, to), readFileSync(file, 'utf8')),
    );
  }
  const programs = join(directory, '_output/bin');
  mkdirSync(programs, { recursive: true });
  symlinkSync(await requireExactTool('kubectl'), join(programs, 'kubectl'));
  return {
    directory,
    functions: functionsOf(readFileSync(join(directory, script), 'utf8')),
    tokens: join(directory, 'hack/testdata/auth-tokens.csv'),
    authority: { certificate: join(directory, 'hack/testdata/ca/ca.crt'), key: join(directory, 'hack/testdata/ca/ca.key') },
  };
}

/** In the order in which the suite runs them, and then what it does between them. */
export function functionsOf(text: string): string[] {
  const named = [...text.matchAll(/^\s+record_command (run_\w+)/gm)].map(([, name = '']) => name);
  return [...new Set(named), 'runTests'];
}

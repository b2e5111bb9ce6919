import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { output, requireExactTool } from '@capstan/testbed';

/** Kubernetes' shell tests for kubectl, in a writable folder where they can run. */
export interface Suite {
  readonly directory: string;
  readonly functions: readonly string[];
  /** The file with its administrator's token. */
  readonly tokens: string;
  /** The authority of client certificates, which also signs. */
  readonly authority: { readonly certificate: string; readonly key: string };
}

const pinned = resolve(import.meta.dirname, '../../../packages/testbed/tools/kubernetes');
const folders = ['hack', 'test/cmd', 'test/fixtures', 'test/e2e/testing-manifests', 'third_party/forked/shell2junit'];
const script = 'test/cmd/legacy-script.sh';

const temporary = '$' + '{TMPDIR}/';

/**
 * Assumptions of the suite that do not hold here: the range of service addresses, network access, exclusive use of /tmp, and that unknown
 * users are rejected as unauthorized, not as forbidden.
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

/** Copies the suite from the module that kubectl is built from. */
export async function layOut(directory: string): Promise<Suite> {
  await output('go', ['mod', 'download', 'k8s.io/kubernetes'], { directory: pinned, timeout: 10 * 60_000 });
  const module = (await output('go', ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'], { directory: pinned })).trim();
  for (const folder of folders) {
    const to = join(directory, folder);
    mkdirSync(dirname(to), { recursive: true });
    await output('cp', ['-R', join(module, folder), to]);
  }
  // The module cache is read-only, and so is its copy.
  await output('chmod', ['-R', 'u+w', directory]);
  // The cache drops executable bits, too, by which kubectl recognizes plugins.
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

/** In the order of the suite, followed by what it does between them. */
export function functionsOf(text: string): string[] {
  const named = [...text.matchAll(/^\s+record_command (run_\w+)/gm)].map(([, name = '']) => name);
  return [...new Set(named), 'runTests'];
}

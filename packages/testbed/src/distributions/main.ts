import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deleteCertificates } from './certificates.ts';
import { saveSnapshot } from './etcd.ts';
import { type Layout, layoutOf, type Parts } from './layout.ts';
import { startNode } from './node.ts';
import { type ProgramName, parseCommand, readSettings } from './options.ts';
import { Processes } from './processes.ts';
import { endWith, resetServer, runServer } from './server.ts';
import { parseToken } from './tokens.ts';

/*
 * A distribution of Kubernetes with the interface of RKE2 and k3s that is made of the real programs of Kubernetes, etcd and containerd, for machines where RKE2 and k3s
 * themselves cannot be had. It runs with what a release of it contains; see `release.ts`.
 */

const [name, ...args] = process.argv.slice(2);
const program = name as ProgramName;
const parts = JSON.parse(process.env['CAPSTAN_DISTRIBUTION'] ?? '{}') as Parts & { readonly version: string };

try {
  await main();
} catch (error) {
  console.error(`level=fatal msg=${JSON.stringify(error instanceof Error ? error.message : String(error))}`);
  process.exit(1);
}

async function main(): Promise<void> {
  if (args[0] === 'kubectl') process.exit(kubectl(args.slice(1)));
  const { words, flags } = parseCommand(args);
  if (flags['version'] === true) {
    console.log(`${program} version ${parts.version} (testbed)`);
    return;
  }
  const layout = layoutOf(program, readSettings(program, flags), parts);
  const [command, verb] = words;
  // Both real programs hide the rest of their arguments.
  if (command === 'server' || command === 'agent') process.title = `/usr/local/bin/${program} ${command}`;
  if (command === 'server') return flags['cluster-reset'] === true ? resetServer(layout) : runServer(layout);
  if (command === 'agent') return runAgent(layout);
  if (command === 'etcd-snapshot') return snapshot(layout, verb, String(flags['name'] ?? 'on-demand'));
  if (command === 'certificate') return certificate(layout, verb);
  throw new Error(`${program} has no command ${command}`);
}

async function runAgent(layout: Layout): Promise<void> {
  const { settings, data } = layout;
  if (settings['server'] === undefined || settings['token'] === undefined) throw new Error('--server and --token are required');
  const processes = new Processes();
  endWith(processes);
  mkdirSync(data, { recursive: true });
  await startNode(layout, processes, { url: String(settings['server']), token: parseToken(String(settings['token']), 'node') });
}

async function snapshot(layout: Layout, verb: string | undefined, name: string): Promise<void> {
  const folder = join(layout.data, 'server/db/snapshots');
  if (verb === 'save') {
    const file = `${name}-${layout.node}-${Math.floor(Date.now() / 1000)}`;
    await saveSnapshot(join(folder, file));
    console.log(`Snapshot ${file} saved.`);
  } else if (verb === 'ls' || verb === 'list') {
    for (const file of existsSync(folder) ? readdirSync(folder) : []) console.log(`${file}\tfile://${join(folder, file)}`);
  } else if (verb === 'delete') rmSync(join(folder, name));
  else throw new Error(`etcd-snapshot has no command ${verb}`);
}

function certificate(layout: Layout, verb: string | undefined): void {
  const { tls, data } = layout;
  if (verb === 'rotate') {
    console.log(`deleted ${deleteCertificates(layout).join(', ')}; start ${program} again`);
    return;
  }
  if (verb !== 'check') throw new Error(`certificate has no command ${verb}`);
  for (const folder of [tls, join(data, 'agent')])
    for (const file of existsSync(folder) ? readdirSync(folder).filter((one) => one.endsWith('.crt')) : []) {
      const { subject, validTo } = new X509Certificate(readFileSync(join(folder, file)));
      console.log([file, subject.replaceAll('\n', ','), validTo].join('\t'));
    }
}

/** `k3s kubectl` uses the kubeconfig of the administrator, unless another one is given. */
function kubectl(rest: readonly string[]): number {
  const environment = { KUBECONFIG: `/etc/rancher/${program}/${program}.yaml`, ...process.env };
  return spawnSync(parts.kubectl, rest, { stdio: 'inherit', env: environment }).status ?? 1;
}

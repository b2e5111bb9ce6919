import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output, requireTool, run, temporaryDirectory } from '@capstan/testbed';

/** The Debian packages of a bare machine: what the install script and Node need. */
const packages = [
  'curl',
  'tar',
  'gzip',
  'coreutils',
  'dash',
  'grep',
  'sed',
  'mawk',
  'libstdc++6',
  'util-linux',
  'mount',
  'hostname',
  'perl-base',
];

/** The beginning of programs for arm64, and which of its bits count, as binfmt_misc wants them. */
const magic = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`;
const mask = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`;

/** Lets the kernel run programs for arm64, by QEMU, until it is disposed of. */
export async function emulateArm64(): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const emulator = await requireTool('qemu-aarch64');
  const formats = stack.use(temporaryDirectory('binfmt')).path;
  await output('mount', ['-t', 'binfmt_misc', 'binfmt_misc', formats]);
  stack.defer(async () => void (await run('umount', [formats])));
  const name = `capstan-arm64-${process.pid}`;
  // F: the emulator is opened now, so that it is found from within any root.
  writeFileSync(join(formats, 'register'), `:${name}:M::${magic}:${mask}:${emulator}:F`);
  stack.defer(() => writeFileSync(join(formats, name), '-1'));
  return stack.move();
}

/** Why none of that is possible here; undefined if it is. */
export async function emulationProblem(): Promise<string | undefined> {
  try {
    await using _emulation = await emulateArm64();
    return undefined;
  } catch (error) {
    return `programs for arm64 cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Unpacks a minimal Debian for arm64, from where this machine gets its own packages. Nothing is installed on this machine. */
export async function fillWithArm64(root: string): Promise<void> {
  using apt = temporaryDirectory('apt');
  for (const folder of ['lists/partial', 'cache/archives/partial']) mkdirSync(apt.join(folder), { recursive: true });
  writeFileSync(apt.join('status'), '');
  const settings = [
    ...['APT::Architecture=arm64', 'APT::Architectures=arm64', 'APT::Sandbox::User=root', `Dir::State=${apt.path}`],
    ...[`Dir::State::status=${apt.join('status')}`, `Dir::State::lists=${apt.join('lists')}`, `Dir::Cache=${apt.join('cache')}`],
  ].flatMap((setting) => ['-o', setting]);
  await output('apt-get', [...settings, 'update'], { timeout: 120_000 });
  await output('apt-get', [...settings, 'install', '--download-only', '--yes', '--no-install-recommends', ...packages], {
    timeout: 240_000,
  });
  const archives = apt.join('cache', 'archives');
  for (const file of readdirSync(archives).filter((name) => name.endsWith('.deb')))
    await output('dpkg-deb', ['-x', join(archives, file), root]);
  symlinkSync('mawk', join(root, 'usr/bin/awk'));
}

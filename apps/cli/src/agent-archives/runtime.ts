import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { AgentPlatform } from '@capstan/api';
import { Failure } from '../failure.ts';

const execute = promisify(execFile);

/** Node's program for a platform. */
export interface Runtime extends Disposable {
  readonly program: string;
  readonly license?: string | undefined;
}

/** The npm packages with Node's programs, by name. */
export type RuntimePackages = Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;

/** A program of this size or more, in bytes, contains everything. Those of distributions are small and need libraries that other machines lack. */
const wholeProgram = 60 << 20;

/** The program that is installed here, or, for other platforms, the package from npm's registry, if its checksum is the one that was recorded with this version. */
export async function runtimeFor(platform: AgentPlatform): Promise<Runtime> {
  const name = `node-${platform}`;
  const installed = installedPackage(name);
  if (installed !== undefined) return { ...inPackage(installed), [Symbol.dispose]: () => {} };
  if (platform === `${process.platform}-${process.arch}` && statSync(process.execPath).size >= wholeProgram)
    return { program: process.execPath, [Symbol.dispose]: () => {} };
  return fetchPackage(name);
}

/** Whether `runtimeFor` needs no network. */
export function hasRuntime(platform: AgentPlatform): boolean {
  return (
    installedPackage(`node-${platform}`) !== undefined ||
    (platform === `${process.platform}-${process.arch}` && statSync(process.execPath).size >= wholeProgram)
  );
}

function installedPackage(name: string): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

function inPackage(directory: string): { readonly program: string; readonly license: string | undefined } {
  const license = join(directory, 'LICENSE');
  return { program: join(directory, 'bin/node'), license: existsSync(license) ? license : undefined };
}

async function fetchPackage(name: string): Promise<Runtime> {
  const { version, integrity } = recordedPackages()[name] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Failure('unexpected', `no checksum of the package ${name} was recorded with this version of Capstan.`);
  const directory = mkdtempSync(join(tmpdir(), 'capstan-runtime-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    await execute('npm', ['pack', `${name}@${version}`, '--pack-destination', directory, '--silent'], { cwd: directory });
    const [file] = readdirSync(directory).filter((one) => one.endsWith('.tgz'));
    if (file === undefined) throw new Error('npm wrote no package');
    checkIntegrity(readFileSync(join(directory, file)), integrity, `${name}@${version}`);
    await execute('tar', ['-xzf', file], { cwd: directory });
    return { ...inPackage(join(directory, 'package')), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    if (error instanceof Failure) throw error;
    throw new Failure(
      'unexpected',
      `the package ${name}@${version} could not be fetched with npm: ${(error as Error).message.trim()}`,
      error,
    );
  }
}

/** Compares a package with its checksum in the format of npm: `sha512-<base64>`. */
export function checkIntegrity(content: Buffer, integrity: string, name: string): void {
  const [algorithm = '', expected] = integrity.split('-', 2);
  const found = createHash(algorithm).update(content).digest('base64');
  if (found !== expected)
    throw new Failure(
      'unexpected',
      `the package ${name} is not the expected one: its checksum is ${algorithm}-${found}, not ${integrity}.`,
    );
}

/** Recorded in the bundle by `scripts/build.ts`; in a checkout, the lock file of npm. */
function recordedPackages(): RuntimePackages {
  const recorded = resolve(import.meta.dirname, '../generated/runtimes.json');
  if (existsSync(recorded)) return JSON.parse(readFileSync(recorded, 'utf8')) as RuntimePackages;
  const lock = readFileSync(resolve(import.meta.dirname, '../../../../package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { packages: RuntimePackages };
  return Object.fromEntries(Object.entries(packages).map(([path, entry]) => [path.replace(/^node_modules\//, ''), entry]));
}

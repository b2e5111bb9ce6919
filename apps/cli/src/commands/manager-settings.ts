import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SigningSettings } from '@capstan/controllers';
import type { ProcessConfig } from '../config/capstan.ts';
import type { ControllerManagerConfig } from '../config/controller-manager.ts';
import { Failure, type StartContext } from '../failure.ts';
import type { LogFormat } from '../log.ts';
import { type ElectionSettings, electionSettings } from './election.ts';
import { defaultDataDirectory, defaultHealthPort } from './options.ts';

const lease = { namespace: 'kube-system', name: 'capstan-controller-manager' };

/** The command-line flags of a process with controllers. Flags override the file. */
export interface ControllerManagerFlags {
  readonly config?: string;
  readonly logFormat?: LogFormat;
  readonly kubeconfig?: string;
  readonly dataDir?: string;
  readonly port?: number;
  /** False if the caller guarantees that only one instance runs. */
  readonly leaderElect?: boolean;
}

export interface ManagerSettings extends StartContext {
  readonly kubeconfigPath: string;
  /** Undefined if it starts working without an election. */
  readonly leaderElection: ElectionSettings | undefined;
  readonly signing: SigningSettings | undefined;
}

export function managerSettings(flags: ControllerManagerFlags, config: ProcessConfig<ControllerManagerConfig>): ManagerSettings {
  const { settings: file } = config;
  const dataDirectory = resolve(flags.dataDir ?? config.dataDirectory ?? defaultDataDirectory);
  const kubeconfigPath = flags.kubeconfig === undefined ? fileKubeconfig(flags, file, dataDirectory) : resolve(flags.kubeconfig);
  return {
    dataDirectory,
    kubeconfigPath,
    host: file.listen?.host ?? '127.0.0.1',
    port: flags.port ?? file.listen?.port ?? defaultHealthPort,
    leaderElection: electionSettings(flags.leaderElect, file.leaderElection, lease),
    signing: signing(file.signing, dataDirectory),
  };
}

function fileKubeconfig(flags: ControllerManagerFlags, file: ControllerManagerConfig, dataDirectory: string): string {
  const own = join(dataDirectory, 'controller-manager.kubeconfig');
  return flags.dataDir === undefined ? (file.kubeconfigFile ?? own) : own;
}

/** The signer from the configuration file, by default the one that the API server created in the data directory. */
function signing(file: ControllerManagerConfig['signing'] = {}, dataDirectory: string): SigningSettings | undefined {
  const certificateFile = file.certificateFile ?? join(dataDirectory, 'pki', 'signer.crt');
  const keyFile = file.keyFile ?? join(dataDirectory, 'pki', 'signer.key');
  if (file.certificateFile === undefined && !(existsSync(certificateFile) && existsSync(keyFile))) return undefined;
  const read = (path: string): string => readPem(path);
  // Read again for each certificate: the signer is renewed while this process runs.
  const load = () => {
    const [certificate, key] = [read(certificateFile), read(keyFile)];
    // Both are replaced when the authority is rotated, one after the other.
    if (!isPair(certificate, key))
      throw new Failure(
        'badCertificate',
        `${keyFile} is not the key of ${certificateFile}. Put the two files that belong together in their places.`,
      );
    return { certificate, key };
  };
  load();
  return { load, ...(file.maximumHours !== undefined && { maximumSeconds: file.maximumHours * 3600 }) };
}

function isPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function readPem(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Failure('usage', `${path}: cannot be read: ${(error as Error).message}. Correct "signing" in the configuration file.`, error);
  }
  if (!text.includes('-----BEGIN '))
    throw new Failure('badCertificate', `${path}: expected a PEM file, with a line that begins with "-----BEGIN".`);
  return text;
}

import { spawn } from 'node:child_process';
import { isObject, parseTime } from '@capstan/machinery';
import type { Credential, Credentials } from './credentials.ts';

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** The `exec` block of a kubeconfig user. */
export interface ExecConfig {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
}

export interface ExecOptions {
  readonly config: ExecConfig;
  /** Passed to the plugin if it asks for it. */
  readonly cluster: { readonly server: string; readonly caData?: string; readonly insecure?: boolean; readonly tlsServerName?: string };
  readonly now?: () => number;
  /** In milliseconds: a plugin that hangs must not hang every request. */
  readonly timeout?: number;
}

/**
 * Credentials from a program that prints an `ExecCredential`. It runs once for all waiting requests, and again when its credential has
 * expired or was rejected.
 */
export function execCredentials(options: ExecOptions): Credentials {
  const { config, now = Date.now } = options;
  if (!versions.includes(config.apiVersion)) {
    throw new Error(`the exec plugin ${config.command} has apiVersion "${config.apiVersion}"; expected one of ${versions.join(', ')}`);
  }
  let held: { readonly credential: Credential; readonly expires: number } | undefined;
  let running: Promise<Credential> | undefined;
  const fetch = async (): Promise<Credential> => {
    try {
      const output = await runPlugin(options);
      held = readExecCredential(config, output);
      return held.credential;
    } finally {
      running = undefined;
    }
  };
  return {
    current() {
      if (held !== undefined && now() < held.expires) return held.credential;
      running ??= fetch();
      return running;
    },
    refused(credential) {
      if (held?.credential === credential) held = undefined;
    },
  };
}

async function runPlugin({ config, cluster, timeout = 60_000 }: ExecOptions): Promise<string> {
  const info = {
    apiVersion: config.apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(config.provideClusterInfo && {
        cluster: {
          server: cluster.server,
          ...(cluster.caData !== undefined && { 'certificate-authority-data': cluster.caData }),
          ...(cluster.insecure && { 'insecure-skip-tls-verify': true }),
          ...(cluster.tlsServerName !== undefined && { 'tls-server-name': cluster.tlsServerName }),
        },
      }),
    },
  };
  const extra = Object.fromEntries((config.env ?? []).map(({ name, value }) => [name, value]));
  const hint = config.installHint === undefined ? '' : `\n${config.installHint}`;
  return new Promise((resolve, reject) => {
    const child = spawn(config.command, [...(config.args ?? [])], {
      env: { ...process.env, ...extra, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout,
      killSignal: 'SIGKILL',
    });
    let output = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2000);
    });
    child.on('error', (error) => reject(new Error(`cannot run the exec plugin ${config.command}: ${error.message}${hint}`)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`the exec plugin ${config.command} ended with ${signal ?? code}: ${complaint.trim()}${hint}`));
    });
  });
}

function readExecCredential(config: ExecConfig, output: string): { credential: Credential; expires: number } {
  const wrong = (why: string): Error =>
    new Error(`the exec plugin ${config.command} ${why}; expected an ExecCredential with a token or a certificate`);
  let printed: unknown;
  try {
    printed = JSON.parse(output);
  } catch {
    throw wrong('printed invalid JSON');
  }
  if (!isObject(printed) || printed.kind !== 'ExecCredential') throw wrong('printed something else');
  if (printed.apiVersion !== config.apiVersion)
    throw wrong(`answered in ${JSON.stringify(printed.apiVersion)} instead of ${config.apiVersion}`);
  const status = isObject(printed.status) ? printed.status : {};
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const hasToken = typeof token === 'string' && token !== '';
  const hasCertificate = typeof cert === 'string' && typeof key === 'string';
  if (!hasToken && !hasCertificate) throw wrong('gave neither');
  const expires = typeof expirationTimestamp === 'string' ? parseTime(expirationTimestamp)?.getTime() : Number.POSITIVE_INFINITY;
  if (expires === undefined) throw wrong(`returned an invalid expirationTimestamp (${JSON.stringify(expirationTimestamp)})`);
  return {
    credential: { ...(hasToken && { authorization: `Bearer ${token}` }), ...(hasCertificate && { certificate: { cert, key } }) },
    expires,
  };
}

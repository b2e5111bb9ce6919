import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError, parseDocument, type Source } from './document.ts';
import { listOf, section, text, url, wholeNumber } from './shape.ts';

const path = text('a path');

const shape = section({
  dataDirectory: path,
  listen: section({
    host: text('an address such as 127.0.0.1'),
    port: wholeNumber(1, 65_535),
    names: listOf(text('a host name or an address'), 'a list of host names and addresses'),
  }),
  etcd: section({
    endpoints: listOf(url('a URL such as http://127.0.0.1:2379'), 'a list of URLs such as [http://127.0.0.1:2379]'),
    prefix: text('a prefix of keys such as /capstan'),
    authorityFile: path,
    certificateFile: path,
    keyFile: path,
  }),
  history: section({ compactionSeconds: wholeNumber(1, 86_400) }),
  audit: section({
    policyFile: path,
    logFile: path,
    maxSizeMiB: wholeNumber(1, 100_000),
    maxBackups: wholeNumber(1, 10_000),
    maxAgeDays: wholeNumber(1, 36_500),
  }),
  authentication: section({ tokenFile: path, configurationFile: path }),
});

export type ApiServerConfig = ReturnType<typeof shape>;

/** Reads the configuration file of `capstan apiserver`. Paths in it are relative to the file. */
export function readApiServerConfig(file: string): ApiServerConfig {
  let source: Source;
  try {
    source = { file, text: readFileSync(file, 'utf8') };
  } catch (error) {
    throw new ConfigError(
      `${file}: cannot be read (${error instanceof Error && 'code' in error ? String(error.code) : String(error)}); give --config the path of a YAML file`,
    );
  }
  const root = parseDocument(source);
  if (root === undefined) return {};
  const config = shape(root, source);
  if (config.etcd !== undefined && config.etcd.endpoints === undefined)
    throw new ConfigError(`${file}: etcd needs "endpoints", a list of URLs`);
  return fromFile(config, dirname(resolve(file)));
}

/** Makes every path absolute. */
function fromFile(config: ApiServerConfig, base: string): ApiServerConfig {
  const mapped = (value: unknown, key: string): unknown => {
    if (typeof value === 'string' && (key === 'dataDirectory' || key.endsWith('File'))) return resolve(base, value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner, name)]));
  };
  return mapped(config, '') as ApiServerConfig;
}

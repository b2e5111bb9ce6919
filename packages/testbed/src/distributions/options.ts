import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

export type ProgramName = 'rke2' | 'k3s';

/** Settings by the names of the configuration file, which are those of the flags too. */
export type Settings = Readonly<Record<string, Setting | undefined>>;

type Word = string | number | boolean;
export type Setting = Word | null | readonly Word[];

export interface CommandLine {
  readonly words: readonly string[];
  readonly flags: Settings;
}

/** `server --token x --cluster-reset`: flags without a value are switches. */
export function parseCommand(args: readonly string[]): CommandLine {
  const words: string[] = [];
  const flags: Record<string, Setting> = {};
  for (let index = 0; index < args.length; index++) {
    const found = /^--?([a-z0-9-]+)(?:=(.*))?$/s.exec(args[index]!);
    if (found === null) words.push(args[index]!);
    else {
      const [, name = '', value] = found;
      const next = args[index + 1];
      if (value !== undefined) flags[name] = value;
      else if (next !== undefined && !next.startsWith('-') && !switches.has(name)) flags[name] = args[++index]!;
      else flags[name] = true;
    }
  }
  return { words, flags };
}

const switches = new Set(['cluster-reset', 'cluster-init', 'version', 'help', 'debug']);

/**
 * The configuration file, then the files beside it in `config.yaml.d` in alphabetical order. The last value wins; a name that ends with `+` adds to a list instead. Flags
 * come before all of them.
 */
export function readSettings(program: ProgramName, flags: Settings): Settings {
  const file = String(flags['config'] ?? `/etc/rancher/${program}/config.yaml`);
  const folder = `${file}.d`;
  const more = existsSync(folder) ? readdirSync(folder).filter((name) => /\.ya?ml$/.test(name)) : [];
  const files = [...(existsSync(file) ? [file] : []), ...more.sort().map((name) => join(folder, name))];
  return { ...files.map((path) => load(readFileSync(path, 'utf8')) as Settings | undefined).reduce<Settings>(merge, {}), ...flags };
}

function merge(before: Settings, next: Settings | undefined): Settings {
  const merged: Record<string, Setting | undefined> = { ...before };
  for (const [key, value] of Object.entries(next ?? {})) {
    if (!key.endsWith('+')) merged[key] = value;
    else {
      const name = key.slice(0, -1);
      merged[name] = [...listOf(merged[name]), ...listOf(value)];
    }
  }
  return merged;
}

export function listOf(value: Setting | undefined): string[] {
  if (value === undefined || value === null) return [];
  return typeof value === 'object' ? value.map(String) : String(value).split(',');
}

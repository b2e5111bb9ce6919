import { type FieldError, FieldPath, fieldError } from '@capstan/machinery';

export type Level = 'privileged' | 'baseline' | 'restricted';

/** A level, and the version of Kubernetes whose checks apply, such as `v1.34` or `latest`. */
export interface Standard {
  readonly level: Level;
  readonly version: string;
}

/** The standards of a namespace: what is rejected, recorded in the audit log, and warned about. */
export interface Policy {
  readonly enforce: Standard;
  readonly audit: Standard;
  readonly warn: Standard;
}

export interface Reading {
  readonly policy: Policy;
  /** Errors for labels with an invalid level or version. */
  readonly errors: readonly FieldError[];
}

/** The prefix of the namespace labels and of the audit annotations. */
export const prefix = 'pod-security.kubernetes.io/';

const strictness: Readonly<Record<Level, number>> = { privileged: 0, baseline: 1, restricted: 2 };
const free: Standard = { level: 'privileged', version: 'latest' };
const nothing: Reading = { policy: { enforce: free, audit: free, warn: free }, errors: [] };
const labelsPath = FieldPath.of('metadata', 'labels');
const versionForm = /^v1\.(?:0|[1-9][0-9]*)$/;
const largestNumber = 2n ** 63n - 1n;

type Mode = keyof Policy;
const modes: readonly Mode[] = ['enforce', 'audit', 'warn'];
const labels = modes.map((mode) => ({ mode, level: `${prefix}${mode}`, version: `${prefix}${mode}-version` }));

/** Parses the labels of a namespace. Where they are invalid, the strictest level is enforced, but nothing is audited or warned about. */
export function policyOf(given: Readonly<Record<string, string>> | undefined): Reading {
  if (given === undefined || !labels.some(({ level, version }) => Object.hasOwn(given, level) || Object.hasOwn(given, version))) {
    return nothing;
  }
  const errors: FieldError[] = [];
  const complain = (label: string, value: string, detail: string): void => {
    errors.push(fieldError.invalid(labelsPath.key(label), value, detail));
  };
  const standards: Record<Mode, Standard> = { ...nothing.policy };
  let isEnforced = false;
  for (const { mode, level: levelLabel, version: versionLabel } of labels) {
    let { level, version } = free;
    const wantedLevel = ownOf(given, levelLabel);
    if (wantedLevel !== undefined) {
      if (isLevel(wantedLevel)) {
        level = wantedLevel;
        isEnforced ||= mode === 'enforce';
      } else {
        complain(levelLabel, wantedLevel, 'must be one of privileged, baseline, restricted');
        if (mode === 'enforce') level = 'restricted';
      }
    }
    const wantedVersion = ownOf(given, versionLabel);
    if (wantedVersion !== undefined) {
      if (isVersion(wantedVersion)) version = wantedVersion;
      else complain(versionLabel, wantedVersion, 'must be "latest" or "v1.x"');
    }
    standards[mode] = { level, version };
  }
  // Workload templates are only warned about, so by default warn about everything that will be rejected.
  if (isEnforced && !Object.hasOwn(given, `${prefix}warn`) && isStricter(standards.enforce, standards.warn)) {
    const version = Object.hasOwn(given, `${prefix}warn-version`) ? standards.warn.version : standards.enforce.version;
    standards.warn = { level: standards.enforce.level, version };
  }
  return { policy: standards, errors };
}

export function isStricter(a: Standard, b: Standard): boolean {
  return strictness[a.level] > strictness[b.level];
}

export function isSame(a: Standard, b: Standard): boolean {
  return a.level === b.level && a.version === b.version;
}

export function nameOf({ level, version }: Standard): string {
  return `${level}:${version}`;
}

function ownOf(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

function isLevel(text: string): text is Level {
  return Object.hasOwn(strictness, text);
}

function isVersion(text: string): boolean {
  return text === 'latest' || (versionForm.test(text) && BigInt(text.slice('v1.'.length)) <= largestNumber);
}

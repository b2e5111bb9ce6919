import { isObject, type JsonObject, parseYaml } from '@capstan/machinery';
import type { OidcOptions } from './oidc.ts';

/** Reads the issuers of an AuthenticationConfiguration (apiserver.config.k8s.io). Claims are mapped by name and prefix; expressions are refused. */
export function parseAuthenticationConfiguration(text: string, audiences: readonly string[]): OidcOptions[] {
  const root = parseYaml(text);
  if (!isObject(root) || root['kind'] !== 'AuthenticationConfiguration') throw problem('kind', 'expected AuthenticationConfiguration');
  return parseIssuers(root['jwt'] ?? [], audiences);
}

/** Reads a list of issuers, which stands under `jwt`. */
export function parseIssuers(issuers: unknown, audiences: readonly string[]): OidcOptions[] {
  if (!Array.isArray(issuers)) throw problem('jwt', 'expected a list');
  return issuers.map((entry, index) => parseIssuer(section(entry, `jwt[${index}]`), audiences));
}

interface Section {
  readonly at: string;
  readonly value: JsonObject;
}

const problem = (at: string, what: string): TypeError => new TypeError(`authentication configuration: ${at}: ${what}`);

function section(value: unknown, at: string): Section {
  if (!isObject(value)) throw problem(at, 'expected a mapping');
  return { at, value };
}

function child({ at, value }: Section, name: string): Section | undefined {
  return value[name] === undefined || value[name] === null ? undefined : section(value[name], `${at}.${name}`);
}

function text({ at, value }: Section, name: string): string | undefined {
  const found = value[name];
  if (found === undefined || found === null || found === '') return undefined;
  if (typeof found !== 'string') throw problem(`${at}.${name}`, 'expected a string');
  return found;
}

function required(from: Section, name: string): string {
  const found = text(from, name);
  if (found === undefined) throw problem(`${from.at}.${name}`, 'is required');
  return found;
}

function noExpressions({ at, value }: Section): void {
  if (value['expression'] !== undefined) throw problem(`${at}.expression`, 'expressions are not supported here: map a claim by its name');
}

function parseIssuer(entry: Section, audiences: readonly string[]): OidcOptions {
  const issuer = section(entry.value['issuer'], `${entry.at}.issuer`);
  const mappings = section(entry.value['claimMappings'], `${entry.at}.claimMappings`);
  const username = section(mappings.value['username'], `${mappings.at}.username`);
  const groups = child(mappings, 'groups');
  const uid = child(mappings, 'uid');
  for (const part of [username, groups, uid]) if (part !== undefined) noExpressions(part);
  const clientIds = issuer.value['audiences'];
  if (!Array.isArray(clientIds) || clientIds.length === 0 || !clientIds.every((id) => typeof id === 'string')) {
    throw problem(`${issuer.at}.audiences`, 'expected a list of at least one string');
  }
  const discoveryUrl = text(issuer, 'discoveryURL');
  const authorities = text(issuer, 'certificateAuthority');
  const groupsClaim = groups && text(groups, 'claim');
  const uidClaim = uid && text(uid, 'claim');
  return {
    issuerUrl: required(issuer, 'url'),
    clientIds: clientIds as string[],
    audiences,
    usernameClaim: required(username, 'claim'),
    usernamePrefix: text(username, 'prefix') ?? '-',
    requiredClaims: requiredClaims(entry),
    signingAlgorithms: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'],
    ...(discoveryUrl && { discoveryUrl }),
    ...(authorities && { authorities }),
    ...(groupsClaim && { groupsClaim, groupsPrefix: text(groups, 'prefix') ?? '' }),
    ...(uidClaim && { uidClaim }),
  };
}

function requiredClaims(entry: Section): Record<string, string> {
  const rules = entry.value['claimValidationRules'] ?? [];
  if (!Array.isArray(rules)) throw problem(`${entry.at}.claimValidationRules`, 'expected a list');
  const parsed = rules.map((rule, index) => {
    const part = section(rule, `${entry.at}.claimValidationRules[${index}]`);
    noExpressions(part);
    return [required(part, 'claim'), text(part, 'requiredValue') ?? ''] as const;
  });
  if (entry.value['userValidationRules'] !== undefined) throw problem(`${entry.at}.userValidationRules`, 'is not supported');
  return Object.fromEntries(parsed);
}

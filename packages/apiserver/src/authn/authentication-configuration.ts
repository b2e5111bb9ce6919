import { isObject, type JsonObject, parseYaml } from '@capstan/machinery';
import { type ClaimExpression, type ClaimResult, claimExpression } from './claim-expression.ts';
import type { OidcOptions } from './oidc.ts';

/**
 * Parses the issuers of an AuthenticationConfiguration (apiserver.config.k8s.io). Claims are mapped by name and prefix, or by expressions
 * over `claims`.
 */
export function parseAuthenticationConfiguration(text: string, audiences: readonly string[]): OidcOptions[] {
  const root = parseYaml(text);
  if (!isObject(root) || root['kind'] !== 'AuthenticationConfiguration') throw problem('kind', 'expected AuthenticationConfiguration');
  return parseIssuers(root['jwt'] ?? [], audiences);
}

/** Parses the list of issuers in `jwt`. */
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

const texts: readonly ClaimResult[] = ['string', 'list(string)'];

/** The expression of a claim mapping, which replaces a claim's name and prefix. Undefined if there is none. */
function expression(part: Section | undefined, results: readonly ClaimResult[]): ClaimExpression | undefined {
  const source = part && text(part, 'expression');
  if (part === undefined || source === undefined) return undefined;
  if (text(part, 'claim') !== undefined) throw problem(part.at, 'claim and expression cannot both be specified');
  if (part.value['prefix'] !== undefined) throw problem(part.at, 'prefix and expression cannot both be specified');
  return claimExpression(source, `${part.at}.expression`, results);
}

function parseIssuer(entry: Section, audiences: readonly string[]): OidcOptions {
  const issuer = section(entry.value['issuer'], `${entry.at}.issuer`);
  const mappings = section(entry.value['claimMappings'], `${entry.at}.claimMappings`);
  const username = section(mappings.value['username'], `${mappings.at}.username`);
  const [groups, uid] = [child(mappings, 'groups'), child(mappings, 'uid')];
  const clientIds = issuer.value['audiences'];
  if (!Array.isArray(clientIds) || clientIds.length === 0 || !clientIds.every((id) => typeof id === 'string')) {
    throw problem(`${issuer.at}.audiences`, 'expected a list of at least one string');
  }
  const discoveryUrl = text(issuer, 'discoveryURL');
  const authorities = text(issuer, 'certificateAuthority');
  const usernameExpression = expression(username, ['string']);
  const groupsExpression = expression(groups, texts);
  const uidExpression = expression(uid, ['string']);
  const groupsClaim = groups && text(groups, 'claim');
  const uidClaim = uid && text(uid, 'claim');
  const { requiredClaims, validations } = validationRules(entry);
  return {
    issuerUrl: required(issuer, 'url'),
    clientIds: clientIds as string[],
    audiences,
    ...(usernameExpression === undefined
      ? { usernameClaim: required(username, 'claim'), usernamePrefix: text(username, 'prefix') ?? '-' }
      : { usernameExpression }),
    requiredClaims,
    validations,
    extra: extraMappings(mappings),
    signingAlgorithms: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'],
    ...(discoveryUrl && { discoveryUrl }),
    ...(authorities && { authorities }),
    ...(groupsClaim && { groupsClaim, groupsPrefix: text(groups, 'prefix') ?? '' }),
    ...(groupsExpression && { groupsExpression }),
    ...(uidClaim && { uidClaim }),
    ...(uidExpression && { uidExpression }),
  };
}

function list(from: Section, name: string): Section[] {
  const items = from.value[name] ?? [];
  if (!Array.isArray(items)) throw problem(`${from.at}.${name}`, 'expected a list');
  return items.map((item, index) => section(item, `${from.at}.${name}[${index}]`));
}

function extraMappings(mappings: Section): NonNullable<OidcOptions['extra']> {
  return list(mappings, 'extra').map((part) => ({
    key: required(part, 'key'),
    value: claimExpression(required(part, 'valueExpression'), `${part.at}.valueExpression`, texts),
  }));
}

function validationRules(entry: Section): Required<Pick<OidcOptions, 'requiredClaims' | 'validations'>> {
  if (entry.value['userValidationRules'] !== undefined) throw problem(`${entry.at}.userValidationRules`, 'is not supported');
  const parts = list(entry, 'claimValidationRules');
  const hasExpression = (part: Section): boolean => text(part, 'expression') !== undefined;
  const byClaim = parts.filter((part) => !hasExpression(part));
  return {
    requiredClaims: Object.fromEntries(byClaim.map((part) => [required(part, 'claim'), text(part, 'requiredValue') ?? ''])),
    validations: parts.filter(hasExpression).map((part) => ({
      expression: claimExpression(required(part, 'expression'), `${part.at}.expression`, ['bool']),
      message: text(part, 'message') ?? 'validation expression failed',
    })),
  };
}

import { names } from '@capstan/machinery';

/** Why a value is not a domain-prefixed path such as `acme.io/foo`. */
export function domainPathProblems(value: string): string[] {
  const slash = value.indexOf('/');
  if (slash === -1 || slash === 0 || slash === value.length - 1) return ['must be a domain-prefixed path (such as "acme.io/foo")'];
  const domain = names.dns1123Subdomain(value.slice(0, slash));
  if (domain.length > 0) return domain;
  return /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(value.slice(slash + 1)) ? [] : ['Invalid path'];
}

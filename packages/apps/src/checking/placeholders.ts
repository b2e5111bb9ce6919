import { isObject, type Json } from '@capstan/machinery';

/** `${secret:name}` and `${fact:name}` in texts of steps. `$${` stands for `${`. */
const pattern = /\$\$\{|\$\{(secret|fact):([A-Za-z0-9][A-Za-z0-9._-]{0,127})\}|\$\{(?:secret|fact):/g;

export interface Mentions {
  readonly secrets: ReadonlySet<string>;
  readonly facts: ReadonlySet<string>;
  /** Something that begins like a placeholder and is none. */
  readonly malformed: boolean;
}

export function mentionsIn(value: unknown): Mentions {
  const secrets = new Set<string>();
  const facts = new Set<string>();
  let malformed = false;
  eachText(value, (text) => {
    for (const [whole, kind, name = ''] of text.matchAll(pattern)) {
      if (kind === 'secret') secrets.add(name);
      else if (kind === 'fact') facts.add(name);
      else if (whole !== '$${') malformed = true;
    }
  });
  return { secrets, facts, malformed };
}

/**
 * The value with facts in place of their names. Placeholders of secrets stay for the agent, which then also reads `$${`; so whatever comes from a fact is quoted for it. Without
 * secrets the agent changes nothing, and `$${` is read here.
 */
export function withFacts<T extends Json>(value: T, facts: Readonly<Record<string, string>>, hasSecrets: boolean): T {
  return mapTexts(value, (text) =>
    text.replace(pattern, (whole, kind: string | undefined, name: string) => {
      if (kind === 'fact') return hasSecrets ? (facts[name] ?? '').replaceAll('${', () => '$${') : (facts[name] ?? '');
      return whole === '$${' && !hasSecrets ? '${' : whole;
    }),
  ) as T;
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value);
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit);
  else if (isObject(value)) for (const item of Object.values(value)) eachText(item, visit);
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item as Json, change)]));
}

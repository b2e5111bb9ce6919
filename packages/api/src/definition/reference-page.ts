import { isObject, type Json, type JsonObject } from '@capstan/machinery/objects';
import type { KindDefinition, KindVersion } from './define-kind.ts';
import { versionFacts } from './object-schema.ts';

/** The reference page of a kind, in Markdown. */
export function referencePage(definition: KindDefinition): string {
  const { kind, description, versions } = definition;
  const parts = [`# ${kind}`, description, facts(definition)];
  for (const [name, version] of Object.entries(versions)) parts.push(...versionPart(definition, name, version));
  parts.push(...measurePart(definition));
  return `${parts.join('\n\n')}\n`;
}

function facts({ group, resource, singular, namespaced, shortNames, categories, version, versions }: KindDefinition): string {
  const rows: [string, string][] = [
    ['Group', code(group)],
    [
      'Versions',
      Object.keys(versions)
        .map((name) => (name === version ? `${code(name)} (stored)` : code(name)))
        .join(', '),
    ],
    ['Resource', code(resource)],
    ['Names for `kubectl`', [resource, singular, ...shortNames].map(code).join(', ')],
    ['Scope', namespaced ? 'namespace' : 'workspace'],
  ];
  if (categories.length > 0) rows.push(['Categories', categories.map(code).join(', ')]);
  return ['| | |', '| --- | --- |', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
}

function versionPart(definition: KindDefinition, name: string, { spec, status, rules, ...version }: KindVersion): string[] {
  const columns = versionFacts(definition, name)['additionalPrinterColumns'] as { name: string; jsonPath: string; description?: string }[];
  const parts = [`## ${name}`];
  if (version.deprecated !== undefined) parts.push(`**Deprecated.** ${version.deprecated}`);
  if (version.served === false) parts.push('This version is no longer served.');
  for (const [title, schema] of [['spec', spec] as const, ['status', status] as const]) {
    if (schema === undefined) continue;
    parts.push(`### ${title}`);
    if (typeof schema.json['description'] === 'string') parts.push(schema.json['description']);
    const rows = fieldRows(schema.json, title);
    if (rows.length > 0) parts.push(['| Field | Type | Description |', '| --- | --- | --- |', ...rows].join('\n'));
    parts.push(...ruleList(schema.json));
  }
  const whole = rulesOf({ 'x-kubernetes-validations': (rules ?? []) as unknown as Json });
  if (whole.length > 0) parts.push('### Rules', whole.map((text) => `- The object ${text}`).join('\n'));
  if (version.selectableFields !== undefined)
    parts.push(`Field selectors may use ${version.selectableFields.map((path) => code(path.slice(1))).join(', ')}.`);
  if (version.scale !== undefined) parts.push(`\`kubectl scale\` sets ${code(version.scale.specReplicasPath.slice(1))}.`);
  parts.push(
    '### Columns',
    ['| Column | Source |', '| --- | --- |', ...columns.map((one) => `| ${one.name} | ${code(one.jsonPath)} |`)].join('\n'),
  );
  return parts;
}

function measurePart({ measures }: KindDefinition): string[] {
  if (measures.length === 0) return [];
  const rows = measures.map(({ name, description, unit, amount }) => {
    const source = amount === undefined ? 'its controllers say' : code(amount);
    return `| ${code(name)} | ${cell(description)} | ${unit} | ${cell(source)} |`;
  });
  return [
    '## Measures',
    'Quotas can limit these amounts.',
    ['| Name | What is counted | Unit | Amount of one object |', '| --- | --- | --- | --- |', ...rows].join('\n'),
  ];
}

function ruleList(schema: JsonObject): string[] {
  const rules = rulesOf(schema);
  return rules.length === 0 ? [] : [rules.map((text) => `- It ${text}`).join('\n')];
}

/** One row for each field below, in the order of the definition. */
function fieldRows(schema: JsonObject, path: string): string[] {
  const { properties, items, additionalProperties } = schema;
  if (isObject(items)) return fieldRows(items, `${path}[]`);
  if (isObject(additionalProperties)) return fieldRows(additionalProperties, `${path}.*`);
  if (!isObject(properties)) return [];
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  return Object.entries(properties).flatMap(([name, value]) => {
    if (!isObject(value)) return [];
    const at = `${path}.${name}`;
    const row = `| ${code(at)} | ${typeName(value)} | ${cell(describe(value, required.has(name)))} |`;
    return [row, ...fieldRows(value, at)];
  });
}

function describe(schema: JsonObject, isRequired: boolean): string {
  const { description, default: value, enum: values } = schema;
  const sentences = [typeof description === 'string' ? description : ''];
  if (isRequired) sentences.push('Required.');
  if (value !== undefined) sentences.push(`Default: ${code(JSON.stringify(value))}.`);
  if (Array.isArray(values)) sentences.push(`One of ${values.map((one) => code(written(one))).join(', ')}.`);
  sentences.push(...limits(schema), ...rulesOf(schema).map((text) => `It ${text}`));
  return sentences.filter((text) => text !== '').join(' ');
}

const limitTexts: Readonly<Record<string, (value: string) => string>> = {
  minimum: (value) => `At least ${value}.`,
  maximum: (value) => `At most ${value}.`,
  minLength: (value) => `At least ${value} characters.`,
  maxLength: (value) => `At most ${value} characters.`,
  minItems: (value) => `At least ${value} items.`,
  maxItems: (value) => `At most ${value} items.`,
  minProperties: (value) => `At least ${value} entries.`,
  maxProperties: (value) => `At most ${value} entries.`,
  multipleOf: (value) => `A multiple of ${value}.`,
  pattern: (value) => `Matches ${code(value)}.`,
};

function limits(schema: JsonObject): string[] {
  return Object.entries(limitTexts).flatMap(([key, write]) => (schema[key] === undefined ? [] : [write(written(schema[key]))]));
}

function rulesOf({ 'x-kubernetes-validations': rules }: JsonObject): string[] {
  if (!Array.isArray(rules)) return [];
  return rules.filter(isObject).map(({ message, rule }) => `${written(message ?? rule)}.`);
}

function typeName(schema: JsonObject): string {
  const { type, format, items, additionalProperties } = schema;
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return 'any object';
  if (isObject(items)) return `${schema['x-kubernetes-list-type'] === 'set' ? 'set' : 'list'} of ${typeName(items)}`;
  if (isObject(additionalProperties)) return `map of ${typeName(additionalProperties)}`;
  return format === 'date-time' ? 'time' : written(type);
}

const written = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);
/** Vertical bars end a cell of a table, even inside code. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

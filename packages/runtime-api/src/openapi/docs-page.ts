import { createHash } from 'node:crypto';
import { problemCodes, restPath } from '@capstan/api';
import { fieldsOf, type JsonObject, textOf, textsOf } from '@capstan/machinery';
import type { Route } from '../routes/route.ts';

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
summary { cursor: pointer; padding: 0.3rem 0; }
summary b { display: inline-block; min-width: 4.5rem; font-family: ui-monospace, monospace; }
summary code { display: inline-block; min-width: 20rem; }
summary span { opacity: 0.7; }
details { border-bottom: 1px solid #8883; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem 0.2rem 0; border-top: 1px solid #8883; }
`;

/** Nothing is loaded from anywhere, and no script runs. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The documentation as one page of HTML, without scripts. */
export function docsPage(routes: readonly Route[], document: JsonObject): string {
  const groups = [...Map.groupBy(routes, ({ tag }) => tag)];
  const { info, components } = document as { readonly info: JsonObject; readonly components: JsonObject };
  const schemas = fieldsOf(components['schemas']);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>Capstan REST API</title><style>${style}</style></head><body><h1>Capstan REST API</h1>`,
    `<p>${marked(textOf(info['description']))} The same as a document for programs: <a href="openapi.json">openapi.json</a>.</p>`,
    `<pre>curl -H "Authorization: Bearer $TOKEN" $SERVER${restPath}/gpu-units</pre>`,
    ...groups.map(([tag, all]) => `<h2 id="${escaped(tag)}">${escaped(tag)}</h2>${all.map(operation).join('')}`),
    '<h2 id="schemas">Schemas</h2>',
    ...Object.entries(schemas).map(([name, schema]) => schemaPart(name, fieldsOf(schema))),
    '<h2 id="problems">Problems</h2><p>Every error is a problem as in RFC 9457, with one of these codes.</p><table><tr><th>Code</th><th>Status</th><th></th></tr>',
    ...Object.entries(problemCodes).map(
      ([code, { status, title }]) => `<tr><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>`,
    ),
    '</table></body></html>\n',
  ].join('\n');
}

function operation({ method, path, summary, parameters = [], body, responses, isPublic }: Route): string {
  const rows = parameters.map(({ name, place = 'query', description }) =>
    row([`<code>${escaped(name)}</code>`, place, marked(description)]),
  );
  const answers = Object.entries(responses).map(([status, { description, schema }]) =>
    row([status, schema === undefined ? '' : link(schema), marked(description)]),
  );
  return [
    `<details><summary><b>${method}</b> <code>${escaped(restPath + path)}</code> <span>${marked(summary)}</span></summary>${isPublic ? '<p>No token is needed.</p>' : ''}`,
    body === undefined ? '' : `<p>Body: ${link(body)}</p>`,
    rows.length === 0 ? '' : `<table><tr><th>Parameter</th><th>In</th><th></th></tr>${rows.join('')}</table>`,
    `<table><tr><th>Status</th><th>Answer</th><th></th></tr>${answers.join('')}</table></details>`,
  ].join('');
}

function schemaPart(name: string, schema: Readonly<Record<string, unknown>>): string {
  const required = new Set(textsOf(schema['required']));
  const rows = Object.entries(fieldsOf(schema['properties'])).map(([field, value]) => {
    const one = fieldsOf(value);
    return row([
      `<code>${escaped(field)}</code>${required.has(field) ? ' *' : ''}`,
      escaped(typeName(one)),
      marked(textOf(one['description'])),
    ]);
  });
  const about = textOf(schema['description']);
  return `<details id="schema-${escaped(name)}"><summary><b>${escaped(name)}</b></summary>${about === '' ? '' : `<p>${marked(about)}</p>`}<table>${rows.join('')}</table></details>`;
}

function typeName(schema: Readonly<Record<string, unknown>>): string {
  const target = textOf(schema['$ref']);
  if (target !== '') return target.slice(target.lastIndexOf('/') + 1);
  const type = schema['type'];
  if (Array.isArray(type)) return type.join(' or ');
  return textOf(type) === 'array' ? `list of ${typeName(fieldsOf(schema['items']))}` : textOf(type);
}

const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
const link = (schema: string): string => `<a href="#schema-${escaped(schema)}">${escaped(schema)}</a>`;
const marked = (text: string): string => escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

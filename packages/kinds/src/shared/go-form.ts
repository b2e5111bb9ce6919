import { type Fields, fieldsOf, isAbsent, maybeFields } from '@capstan/machinery';
import { goLayout } from './go-layout.ts';
import { canonicalAmount } from './resources.ts';

type Part = { readonly kind: 'inline'; readonly type: string } | { readonly kind: 'metadata' } | Field;

interface Field {
  readonly kind: 'field';
  readonly name: string;
  readonly json: string;
  readonly type: string;
}

let types: ReadonlyMap<string, readonly Part[]> | undefined;

/** Parsed on first use. */
function partsOf(type: string): readonly Part[] {
  types ??= new Map(
    goLayout
      .trim()
      .split('\n')
      .map((line) => {
        const [name = '', ...parts] = line.trim().split(' ');
        return [name, parts.map(readPart)];
      }),
  );
  return types.get(type)!;
}

function readPart(text: string): Part {
  if (text.startsWith('+')) return { kind: 'inline', type: text.slice(1) };
  if (text.startsWith('~')) return { kind: 'metadata' };
  const [names = '', type = ''] = text.split(':');
  const [name = '', json = name.charAt(0).toLowerCase() + name.slice(1)] = names.split('=');
  return { kind: 'field', name, json, type };
}

const metadataFields = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

/** Converts fields to the form that Go prints: its names, in its order, including unset fields. */
export function goForm(type: string, fields: Readonly<Fields>): Fields {
  const form: Fields = {};
  for (const part of partsOf(type)) {
    if (part.kind === 'inline') Object.assign(form, goForm(part.type, fields));
    else if (part.kind === 'metadata') {
      const metadata = fieldsOf(fields['metadata']);
      for (const name of metadataFields) if (!isAbsent(metadata[name])) form[name] = metadata[name];
    } else form[part.name] = formOf(part.type, fields[part.json]);
  }
  return form;
}

const zeros: Readonly<Record<string, unknown>> = { s: '', i: 0, b: false, q: '0', x: 0, t: null, j: null };

function formOf(type: string, value: unknown): unknown {
  const inner = type.slice(1);
  switch (type.charAt(0)) {
    case '*':
      return isAbsent(value) ? null : formOf(inner, value);
    case '[':
      return Array.isArray(value) ? value.map((item) => formOf(inner, item)) : null;
    case '{': {
      const map = maybeFields(value);
      if (map === undefined) return null;
      const keys = Object.keys(map).sort();
      return Object.fromEntries(keys.map((key) => [key, formOf(inner, map[key])]));
    }
    case '@':
      return goForm(inner, fieldsOf(value));
    case 'q':
      return canonicalAmount(value);
    default:
      return value ?? zeros[type];
  }
}

const hostFields = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'];

/** Go's internal type has the host namespace settings inside the security context. */
export function goPodSpec(spec: Readonly<Fields>): Fields {
  const shared = Object.fromEntries(hostFields.map((field) => [field, spec[field]]));
  return goForm('PodSpec', { ...spec, securityContext: { ...fieldsOf(spec['securityContext']), ...shared } });
}

export function goPodTemplate(template: Readonly<Fields>): Fields {
  const { Spec: _, ...metadata } = goForm('PodTemplateSpec', template);
  return { ...metadata, Spec: goPodSpec(fieldsOf(template['spec'])) };
}

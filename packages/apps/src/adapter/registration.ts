import { type App, appKind, type KindDefinition, type NewObjectOf, newObject, nodeScriptKind } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import type { BuiltInAdapter } from './contract.ts';
import type { AdapterScript } from './scripts.ts';

/** An adapter that is a part of Capstan: `adapters/<name>/registration.ts` exports one, and `adapters/built-in.ts` lists them. */
export interface AdapterRegistration {
  readonly adapter: BuiltInAdapter;
  /** The entries of the catalog that use it. The platform installs and renews them; fields that the owner has changed stay. */
  readonly apps: () => readonly NewApp[];
  /** Usually `() => scriptsOf('<name>')`. */
  readonly scripts: () => readonly AdapterScript[];
}

export type NewApp = NewObjectOf<typeof appKind>;

interface Installed {
  readonly kind: KindDefinition;
  readonly object: KubeObject;
}

/** Everything of these adapters that the platform installs. */
export function contentOf(registrations: readonly AdapterRegistration[]): Installed[] {
  const scripts = registrations.flatMap((one) => one.scripts());
  const apps = registrations.flatMap((one) => one.apps());
  return [
    ...scripts.map(({ name, description, content }) => ({
      kind: nodeScriptKind,
      object: newObject(nodeScriptKind, { metadata: { name }, spec: { content, ...(description !== '' && { description }) } }),
    })),
    ...apps.map((app) => ({ kind: appKind, object: newObject(appKind, app) as App })),
  ];
}

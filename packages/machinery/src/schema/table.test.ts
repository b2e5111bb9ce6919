import { describe, expect, it } from 'vitest';
import { builtinGroups, builtinResources, builtinTypes } from './table.ts';
import type { Type } from './type.ts';

const types = builtinTypes();
const core = (name: string) => types.object(`io.k8s.api.core.v1.${name}`);

describe('the types of built-in kinds', () => {
  it("have their fields in Go's order", () => {
    expect([...core('ConfigMap').fields.keys()]).toEqual(['kind', 'apiVersion', 'metadata', 'immutable', 'data', 'binaryData']);
  });

  it('describe how Kubernetes treats empty values', () => {
    const fields = core('ConfigMap').fields;
    expect(fields.get('data')?.empty).toBe('dropped');
    expect(fields.get('metadata')?.empty).toBe('printed');
    expect(fields.get('immutable')?.empty).toBeUndefined();
    expect(types.object('io.k8s.api.rbac.v1.Role').fields.get('rules')?.empty).toBe('null');
  });

  it('carry list types, keys and patch rules', () => {
    const ports = core('Container').fields.get('ports')!;
    expect(ports.type).toMatchObject({ kind: 'list', listType: 'map', keys: ['containerPort', 'protocol'] });
    expect(ports.patch).toEqual({ merge: true, retainKeys: false, mergeKey: 'containerPort' });
    expect(core('PodSpec').fields.get('volumes')?.patch).toEqual({ merge: true, retainKeys: true, mergeKey: 'name' });
    expect(core('PodSpec').fields.get('nodeSelector')?.type).toMatchObject({ kind: 'map', atomic: true });
  });

  it('include real defaults but no zero values', () => {
    expect(core('ContainerPort').fields.get('protocol')?.default).toBe('TCP');
    expect(core('ContainerPort').fields.get('containerPort')?.default).toBeUndefined();
    expect(core('Pod').fields.get('spec')?.default).toBeUndefined();
  });

  it('inline the fields of embedded structs, with the protobuf messages that enclose them', () => {
    const rule = types.object('io.k8s.api.admissionregistration.v1.NamedRuleWithOperations');
    expect(rule.fields.get('resourceNames')?.proto).toEqual({ number: 1 });
    expect(rule.fields.get('operations')?.proto).toEqual({ inline: [2], number: 1 });
    expect(rule.fields.get('apiGroups')?.proto).toEqual({ inline: [2, 2], number: 1 });
  });

  it('leave kind and apiVersion to the envelope', () => {
    expect(core('Pod').fields.get('kind')?.proto).toBeUndefined();
    expect(core('Pod').fields.get('metadata')?.proto).toEqual({ number: 1 });
  });

  it('may be granular in a field although the type itself is atomic', () => {
    expect(core('ObjectReference').atomic).toBe(true);
    expect(core('PersistentVolumeSpec').fields.get('claimRef')?.type).toMatchObject({ kind: 'object', atomic: false });
  });

  it('may be recursive', () => {
    const props = types.object('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps');
    expect(props.fields.get('not')?.type).toBe(props);
    expect(props.fields.get('items')?.type).toMatchObject({ kind: 'any', form: 'schemaOrArray', schema: props });
  });

  it('can all be linked, and number every field of a message once', () => {
    for (const name of types.names()) {
      const numbers = new Set<string>();
      for (const field of types.object(name).fields.values()) {
        visit(field.type);
        if (field.proto === undefined) continue;
        const number = [...(field.proto.inline ?? []), field.proto.number].join('.');
        expect(numbers, `${name}.${field.name}`).not.toContain(number);
        numbers.add(number);
      }
    }
  });

  it('throw for an unknown name', () => {
    expect(() => types.object('io.k8s.Nope')).toThrow('no built-in type is called io.k8s.Nope');
    expect(types.has('constructor')).toBe(false);
  });
});

function visit(type: Type): void {
  if (type.kind === 'list') visit(type.items);
  else if (type.kind === 'map') visit(type.values);
  else if (type.kind === 'object') expect(type.fields).toBeInstanceOf(Map);
}

describe('the built-in resources', () => {
  it('each have a type and belong to a group that serves their version', () => {
    const groups = new Map(builtinGroups().map((group) => [group.name, group]));
    for (const resource of builtinResources()) {
      expect(types.has(resource.typeName), resource.resource).toBe(true);
      const { versions, optionalVersions = [] } = groups.get(resource.group)!;
      expect([...versions, ...optionalVersions]).toContain(resource.version);
      if (resource.listKind !== undefined) expect(types.has(`${resource.typeName}List`), resource.resource).toBe(true);
    }
  });

  it('match discovery', () => {
    const deployments = builtinResources().find(({ resource }) => resource === 'deployments');
    expect(deployments).toMatchObject({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      shortNames: ['deploy'],
      categories: ['all'],
      namespaced: true,
    });
    expect(deployments?.subresources.find(({ name }) => name === 'scale')).toMatchObject({
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      typeName: 'io.k8s.api.autoscaling.v1.Scale',
    });
  });

  it('begin with the core group and name preferred versions', () => {
    expect(builtinGroups()[0]).toEqual({ name: '', versions: ['v1'], preferredVersion: 'v1' });
    const admission = builtinGroups().find(({ name }) => name === 'admissionregistration.k8s.io');
    expect(admission).toMatchObject({ versions: ['v1'], optionalVersions: ['v1beta1'], preferredVersion: 'v1' });
    expect(builtinGroups().find(({ name }) => name === 'autoscaling')).toMatchObject({ versions: ['v2', 'v1'], preferredVersion: 'v2' });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';
import { checkObject } from './check.ts';
import { applySchemaDefaults, applySchemaDefaultsInParts } from './defaults.ts';
import { CodecError } from './error.ts';
import { parseJson } from './json.ts';
import { maxProblems } from './strict.ts';

const types = builtinTypes();
const core = (name: string): ObjectType => types.object(`io.k8s.api.core.v1.${name}`);
const crd = types.object('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition');

function check(type: ObjectType, text: string): { value: JsonObject; unknown: readonly string[] } {
  const value = parseJson(text) as JsonObject;
  return { value, unknown: checkObject(value, type, { text }).unknown };
}

const pod = (container: string, more = ''): string => `{"spec":{"containers":[${container}]${more}}}`;

describe('checkObject rejects values of the wrong type as Go does', () => {
  const configMap = core('ConfigMap');
  it.each([
    [configMap, '{"data":{"a":1}}', 'json: cannot unmarshal number into Go struct field ConfigMap.data of type string'],
    [configMap, '{"data":[]}', 'json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string'],
    [configMap, '{"metadata":"a"}', 'json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta'],
    [configMap, '{"metadata":{"name":5}}', 'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string'],
    [
      configMap,
      '{"metadata":{"labels":{"b":1}}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      configMap,
      '{"metadata":{"generation":1.5}}',
      'json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    [
      configMap,
      '{"metadata":{"generation":"x"}}',
      'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    [
      configMap,
      '{"metadata":{"ownerReferences":{}}}',
      'json: cannot unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference',
    ],
    [
      configMap,
      '{"metadata":{"ownerReferences":[{"kind":5}]}}',
      'json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.kind of type string',
    ],
    [
      configMap,
      '{"metadata":{"creationTimestamp":5}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [configMap, '{"metadata":{"creationTimestamp":"x"}}', 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
    [configMap, '{"metadata":{"creationTimestamp":"2020-13-01T00:00:00Z"}}', 'parsing time "2020-13-01T00:00:00Z": month out of range'],
    [configMap, '{"metadata":{"creationTimestamp":"2021-02-29T00:00:00Z"}}', 'parsing time "2021-02-29T00:00:00Z": day out of range'],
    [configMap, '{"binaryData":{"a":"!!"}}', 'illegal base64 data at input byte 0'],
    [configMap, '{"binaryData":{"a":"YQ"}}', 'illegal base64 data at input byte 0'],
    [configMap, '{"binaryData":{"a":"YQ==YQ=="}}', 'illegal base64 data at input byte 4'],
    [configMap, '{"binaryData":{"a":5}}', 'json: cannot unmarshal number into Go struct field ConfigMap.binaryData of type []uint8'],
    [
      core('Pod'),
      pod('{"nope":5,"ports":[{"protocol":5}]}'),
      'json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol',
    ],
    [core('Pod'), pod('5'), 'json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container'],
    [
      core('Pod'),
      pod('{"resources":{"limits":5}}'),
      'json: cannot unmarshal number into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList',
    ],
    [
      core('Pod'),
      pod('{"resources":{"limits":{"cpu":"x"}}}'),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      core('Pod'),
      pod('{"resources":{"limits":{"cpu":true}}}'),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      core('Pod'),
      pod('{"livenessProbe":{"httpGet":5}}'),
      'json: cannot unmarshal number into Go struct field Probe.spec.containers.livenessProbe.httpGet of type v1.HTTPGetAction',
    ],
    [
      core('Pod'),
      pod('{"livenessProbe":{"httpGet":{"port":true}}}'),
      'json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32',
    ],
    [
      core('Pod'),
      pod('{"ports":[{"containerPort":99999999999}]}'),
      'json: cannot unmarshal number 99999999999 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32',
    ],
    [
      core('Pod'),
      pod('{}', ',"volumes":[{"emptyDir":5}]'),
      'json: cannot unmarshal number into Go struct field Volume.spec.volumes.emptyDir of type v1.EmptyDirVolumeSource',
    ],
    [
      types.object('io.k8s.api.coordination.v1.Lease'),
      '{"spec":{"renewTime":"2020-01-01T01:02:03.123456789+01:00"}}',
      'parsing time "2020-01-01T01:02:03.123456789+01:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789+01:00" as "Z07:00"',
    ],
    [
      crd,
      '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"items":{"type":5}}}}}}]}}',
      'json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items of type string',
    ],
    [
      types.object('io.k8s.api.coordination.v1.Lease'),
      '{"spec":{"holderIdentity":[],"renewTime":{}}}',
      'json: cannot unmarshal object into Go struct field LeaseSpec.spec.renewTime of type string',
    ],
    [configMap, '{"binaryData":{"a":"!","b":5},"data":[]}', 'illegal base64 data at input byte 0'],
    [crd, '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":5}}}]}}', 'boolean or JSON schema expected'],
  ])('%#: %s', (type, text, message) => {
    expect(() => check(type, text)).toThrow(new CodecError(message));
  });
});

describe('checkObject reports the problems that strict validation rejects', () => {
  it('drops unknown fields and reports their paths', () => {
    const { value, unknown } = check(core('Pod'), pod('{"nope":5,"ports":[{"protocol":"TCP"},{"x":{"y":1}}]}'));
    expect(unknown).toEqual(['unknown field "spec.containers[0].nope"', 'unknown field "spec.containers[0].ports[1].x"']);
    expect(value).toEqual({ spec: { containers: [{ ports: [{ protocol: 'TCP' }, {}] }] } });
  });

  it('is case-sensitive', () => {
    expect(check(core('ConfigMap'), '{"Data":{}}').unknown).toEqual(['unknown field "Data"']);
  });

  it('reports duplicate and unknown fields in text order', () => {
    const text = '{"metadata":{"name":"a"},"data":{"a":"x","a":"y"},"nope":1,"metadata":{"nope":2,"name":"b"}}';
    const { value, unknown } = check(core('ConfigMap'), text);
    expect(unknown).toEqual([
      'duplicate field "data.a"',
      'unknown field "nope"',
      'duplicate field "metadata"',
      'unknown field "metadata.nope"',
    ]);
    expect(value).toEqual({ metadata: { name: 'b' }, data: { a: 'y' } });
  });

  it('finds a duplicate key in a different spelling', () => {
    expect(check(core('ConfigMap'), '{"data":{"a":"x","\\u0061":"y"}}').unknown).toEqual(['duplicate field "data.a"']);
  });

  it('reports nothing inside values that Go keeps verbatim', () => {
    const revision = types.object('io.k8s.api.apps.v1.ControllerRevision');
    expect(check(revision, '{"revision":1,"data":{"a":1,"a":null,"b":{"c":[{"d":1}]}}}').unknown).toEqual([]);
    expect(check(crd, '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"nope":1}}}}]}}').unknown).toEqual([]);
  });

  it('continues after an unknown field, however deep it is', () => {
    const deep = '['.repeat(580) + ']'.repeat(580);
    const text = `{"nope":${deep},"data":{"a":"x", "a":"y"},"x":{"a":"}"},"kind":"a"}`;
    expect(check(core('ConfigMap'), text).unknown).toEqual(['unknown field "nope"', 'duplicate field "data.a"', 'unknown field "x"']);
  });

  it('rejects schemas that are nested too deeply', () => {
    const deep = `${'{"not":'.repeat(5000)}{}${'}'.repeat(5000)}`;
    expect(() => check(crd, `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${deep}}}]}}`)).toThrow(CodecError);
    expect(() => check(crd, `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${deep}}}]},"kind":"a","kind":"b"}`)).toThrow(CodecError);
  });

  it('stops at a hundred problems', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x${index}`, 1]));
    expect(check(core('ConfigMap'), JSON.stringify(many)).unknown).toHaveLength(maxProblems);
  });

  it('reports no problems in well-formed objects, whatever their keys', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '1')), fc.string()),
        (data) => {
          const { value, unknown } = check(core('ConfigMap'), JSON.stringify({ data, kind: 'ConfigMap' }));
          expect(unknown).toEqual([]);
          expect(JSON.stringify(value['data'] ?? {})).toBe(JSON.stringify(data));
        },
      ),
    );
  });
});

describe('checkObject converts values to their canonical form', () => {
  it('canonicalizes quantities, times and bytes', () => {
    const { value } = check(
      core('Pod'),
      '{"metadata":{"creationTimestamp":"2020-01-01T00:00:00.5+02:00"},"spec":{"containers":[{"resources":{"limits":{"cpu":0.5,"memory":"1024Ki"},"requests":{"cpu":"1000m"}}}]}}',
    );
    expect(value).toEqual({
      metadata: { creationTimestamp: '2019-12-31T22:00:00Z' },
      spec: { containers: [{ resources: { limits: { cpu: '500m', memory: '1Mi' }, requests: { cpu: '1' } } }] },
    });
    expect(check(core('ConfigMap'), '{"binaryData":{"a":"Y\\nQ=="}}').value).toEqual({ binaryData: { a: 'YQ==' } });
    expect(check(core('ConfigMap'), '{"binaryData":{"a":[97],"b":[],"c":[null]}}').value).toEqual({
      binaryData: { a: 'YQ==', b: '', c: 'AA==' },
    });
    const lease = types.object('io.k8s.api.coordination.v1.Lease');
    expect(check(lease, '{"spec":{"renewTime":"2020-01-01T01:02:03.123456+01:00"}}').value).toEqual({
      spec: { renewTime: '2020-01-01T00:02:03.123456Z' },
    });
  });

  it('drops nulls, and values that Go would not print', () => {
    expect(
      check(core('ConfigMap'), '{"data":{},"binaryData":null,"immutable":false,"metadata":{"labels":{},"finalizers":[]}}').value,
    ).toEqual({
      immutable: false,
      metadata: {},
    });
  });

  it('turns nulls in lists and maps into empty values', () => {
    expect(check(core('ConfigMap'), '{"data":{"a":null},"metadata":{"finalizers":[null,"x"]}}').value).toEqual({
      data: { a: '' },
      metadata: { finalizers: ['', 'x'] },
    });
    expect(check(core('Pod'), '{"spec":{"containers":[null]}}').value).toEqual({ spec: { containers: [{}] } });
  });

  it('treats keys that are special in JavaScript as plain keys', () => {
    const { value } = check(core('ConfigMap'), '{"data":{"__proto__":null,"constructor":"x"}}');
    expect(Object.keys(value['data'] as JsonObject)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value['data'])).toBe(Object.prototype);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('leaves its own result unchanged and throws only CodecErrors', () => {
    const names = [
      ...core('Pod').fields.keys(),
      ...core('PodSpec').fields.keys(),
      ...core('Container').fields.keys(),
      'cpu',
      '__proto__',
      'x',
    ];
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6, withCrossShrink: true },
        fc.constantFrom(null, true, 0, 1, 1.5, -1, '', 'a', '1', '2020-01-01T00:00:00Z', 'YQ=='),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...core('Pod').fields.keys(), '__proto__'), tree, { maxKeys: 5 }), (object) => {
        let first: JsonObject;
        try {
          first = check(core('Pod'), JSON.stringify(object)).value;
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError);
          return;
        }
        const text = JSON.stringify(first);
        const again = check(core('Pod'), text);
        expect(again.unknown).toEqual([]);
        expect(JSON.stringify(again.value)).toBe(text);
        expect(({} as { x?: unknown }).x).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

describe('applySchemaDefaults', () => {
  function filled(type: ObjectType, object: JsonObject): JsonObject {
    applySchemaDefaults(object, type);
    return object;
  }

  it('fills in defaults and always-printed values if the parent object is present', () => {
    expect(filled(core('Service'), { spec: { ports: [{ port: 1 }] } })).toEqual({
      metadata: {},
      spec: { ports: [{ port: 1, protocol: 'TCP', targetPort: 0 }] },
      status: { loadBalancer: {} },
    });
    expect(filled(core('Pod'), { spec: { containers: [{ name: 'a' }] } })).toEqual({
      metadata: {},
      spec: { containers: [{ name: 'a', resources: {} }] },
      status: {},
    });
  });

  it('prints null for lists and times that are never omitted', () => {
    expect(filled(types.object('io.k8s.api.rbac.v1.Role'), {})).toEqual({ metadata: {}, rules: null });
    expect(filled(core('Event'), {})).toMatchObject({ firstTimestamp: null, eventTime: null, involvedObject: {} });
  });

  it('keeps existing values, empty or not', () => {
    expect(
      filled(core('Service'), { spec: { ports: [{ protocol: '', port: 0, targetPort: 'x' }] }, status: { loadBalancer: { ingress: [] } } }),
    ).toEqual({
      metadata: {},
      spec: { ports: [{ protocol: '', port: 0, targetPort: 'x' }] },
      status: { loadBalancer: { ingress: [] } },
    });
  });

  it('fills in long lists in parts, wherever they are', () => {
    const ports = Array.from({ length: 20 }, () => ({}));
    const pod = (): JsonObject => ({ spec: { containers: Array.from({ length: 1_000 }, () => ({ ports: structuredClone(ports) })) } });
    const object = pod();
    let parts = 1;
    for (const _ of applySchemaDefaultsInParts(object, core('Pod'))) parts++;
    expect(parts).toBeGreaterThan(20);
    const [first] = (filled(core('Pod'), { spec: { containers: [{ ports: [{}] }] } })['spec'] as JsonObject)['containers'] as JsonObject[];
    const port = (first!['ports'] as JsonObject[])[0];
    expect(port).not.toEqual({});
    for (const container of (object['spec'] as JsonObject)['containers'] as JsonObject[])
      expect(container).toEqual({ ...first, ports: ports.map(() => port) });
  });

  it('fills in wide maps in parts', () => {
    const port = core('ServicePort');
    const type: ObjectType = {
      ...{ kind: 'object', name: '', atomic: false, preserveUnknown: false },
      fields: new Map([['ports', { name: 'ports', required: false, type: { kind: 'map', values: port, atomic: false } }]]),
    };
    const ports: JsonObject = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, {}]));
    let parts = 1;
    for (const _ of applySchemaDefaultsInParts({ ports }, type)) parts++;
    expect(parts).toBeGreaterThan(9);
    for (const one of Object.values(ports)) expect(one).toEqual(filled(port, {}));
  });

  it('shares no values between objects', () => {
    const first = filled(core('Pod'), {});
    (first['status'] as JsonObject)['phase'] = 'Running';
    expect(filled(core('Pod'), {})['status']).toEqual({});
  });
});

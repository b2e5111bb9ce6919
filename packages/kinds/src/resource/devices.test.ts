import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

function problems(resource: string, spec: object): string[] {
  const object: KubeObject = { apiVersion: 'resource.k8s.io/v1', kind: '', metadata: { name: 'x' }, spec };
  const strategy = workloadStrategies.get(`resource.k8s.io/${resource}`)!;
  strategy.default?.(object);
  return strategy.validate!(object, contextOf()).map(({ field, body }) => `${field}: ${body}`);
}

const byExpression = (expression: string): string[] => problems('deviceclasses', { selectors: [{ cel: { expression } }] });

describe('a device selector expression', () => {
  test.each([
    "device.driver == 'a'",
    "device.attributes['a.example.com'].model == 'x' && device.attributes['b'].count > 3",
    "device.capacity['a.example.com'].memory.compareTo(quantity('1Gi')) >= 0",
    "device.attributes['a'].flag",
    "cel.bind(a, device.attributes['x'], a.b)",
  ])('may be %s', (expression) => {
    expect(byExpression(expression)).toEqual([]);
  });

  test.each([
    [
      'Unknown',
      `Invalid value: "Unknown": compilation failed: ERROR: <input>:1:1: undeclared reference to 'Unknown' (in container '')\n | Unknown\n | ^`,
    ],
    ['device.driver', 'Invalid value: "device.driver": must evaluate to bool or the unknown type, not string'],
    ["device.nope == 'a'", expect.stringContaining("undefined field 'nope'")],
  ])('is rejected: %s', (expression, body) => {
    const at = 'spec.selectors[0].cel.expression: ';
    expect(byExpression(expression).map((problem) => problem.slice(at.length))).toEqual([body]);
  });
});

describe('a claim', () => {
  const requests = [{ name: 'gpu', exactly: { deviceClassName: 'c', tolerations: [{ operator: 'Exists', value: 'v', effect: 'x' }] } }];
  test('is rejected with invalid tolerations, constraints or configuration', () => {
    const constraints = [{ requests: ['none'], matchAttribute: 'a' }];
    const config = [{ requests: ['gpu'] }, { opaque: { driver: 'd', parameters: [] } }];
    expect(problems('resourceclaims', { devices: { requests, constraints, config } })).toEqual([
      'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
      'spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule"',
      `spec.devices.constraints[0].requests[0]: Invalid value: "none": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
      'spec.devices.constraints[0].matchAttribute: Invalid value: "a": must include a domain',
      'spec.devices.config[0].opaque: Required value',
      'spec.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
    ]);
  });
});

describe('a slice', () => {
  test('is rejected with invalid device attributes', () => {
    const devices = [{ name: 'a', attributes: { '': { int: 1 }, '/': { int: 1 }, b: { int: 1, bool: true } } }];
    const pool = { name: 'p', resourceSliceCount: 1, generation: 1 };
    expect(problems('resourceslices', { driver: 'd', nodeName: 'n', pool, devices })).toEqual([
      'spec.devices[0].attributes[]: Required value: name required',
      'spec.devices[0].attributes[/]: Required value: the domain must not be empty',
      'spec.devices[0].attributes[/]: Required value: the name must not be empty',
      'spec.devices[0].attributes[b]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null}: exactly one value must be specified',
    ]);
  });
});

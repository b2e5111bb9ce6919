import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { definedKinds, type User } from '@capstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attributes } from '../authz/attributes.ts';
import { asking } from '../authz/testing.ts';
import { type AuditedRequest, eventLine } from './event.ts';
import { LogFile, type LogFileOptions } from './file.ts';
import { type AuditLog, auditLog } from './log.ts';
import { type AuditPolicy, type AuditRule, compilePolicy, defaultPolicy } from './policy.ts';
import { parseAuditPolicy } from './policy-file.ts';

const jane: User = { name: 'jane', groups: ['devs', 'system:authenticated'] };
const configMaps: Partial<Attributes> = { resource: 'configmaps', namespace: 'shop' };

describe('the default policy', () => {
  const recordingOf = compilePolicy(defaultPolicy);
  it.each(['get', 'list', 'watch'])('does not record %s', (verb) => {
    expect(recordingOf(asking(jane, verb, configMaps))).toBeUndefined();
    expect(recordingOf(asking(jane, verb, { path: '/metrics' }))).toBeUndefined();
  });

  it.each(['create', 'update', 'patch', 'delete', 'deletecollection', 'post'])('records %s without bodies', (verb) => {
    expect(recordingOf(asking(jane, verb, configMaps))).toMatchObject({ level: 'Metadata', omitStages: ['RequestReceived'] });
  });
});

describe('streams to nodes', () => {
  const recordingOf = compilePolicy(defaultPolicy);
  const ofOwnKinds = definedKinds.flatMap(({ group, resource, streams }) =>
    streams.map((name): [string, string] => [group, `${resource}/${name}`]),
  );
  it.each<[string, string]>([
    ['', 'pods/exec'],
    ['', 'pods/log'],
    ['', 'nodes/proxy'],
    ['apps.capstan.dev', 'appmembers/exec'],
    ['apps.capstan.dev', 'appinstances/proxy'],
    ['apps.capstan.dev', 'appoperations/log'],
    ['fleet.capstan.dev', 'nodetasks/log'],
    ...ofOwnKinds,
  ])('are recorded by default, although a WebSocket is opened with GET: %s %s', (group, path) => {
    const [resource, subresource] = path.split('/');
    expect(recordingOf(asking(jane, 'get', { group, resource: resource!, subresource: subresource! }))).toMatchObject({
      level: 'Metadata',
    });
    expect(recordingOf(asking(jane, 'get', { group, resource: resource! }))).toBeUndefined();
  });
});

describe('heartbeats', () => {
  const recordingOf = compilePolicy(defaultPolicy);
  const lease: Partial<Attributes> = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system', name: 'scheduler' };
  const kubelet: User = { name: 'system:node:a', groups: ['system:nodes'] };
  const agent: User = { name: 'system:capstan-node-agent:a', groups: ['system:capstan-node-agents'] };
  const status: Partial<Attributes> = { resource: 'nodes', subresource: 'status', name: 'a' };
  const gpuNode: Partial<Attributes> = { group: 'fleet.capstan.dev', resource: 'gpunodes', subresource: 'status', name: 'a' };
  it.each<[boolean, User, string, Partial<Attributes>]>([
    [false, jane, 'update', lease],
    [false, jane, 'patch', lease],
    [true, jane, 'create', lease],
    [true, jane, 'delete', lease],
    [false, kubelet, 'patch', status],
    [true, jane, 'patch', status],
    [true, kubelet, 'patch', { ...status, subresource: '' }],
    [false, agent, 'update', gpuNode],
    [true, jane, 'update', gpuNode],
  ])('are recorded (%s) by default: %j %s %j', (isRecorded, user, verb, request) => {
    expect(recordingOf(asking(user, verb, request)) !== undefined).toBe(isRecorded);
  });
  it('are recorded by a policy that asks for them', () => {
    expect(compilePolicy({ rules: [{ level: 'Metadata' }] })(asking(jane, 'update', lease))).toMatchObject({ level: 'Metadata' });
  });
});

describe('questions about oneself', () => {
  const recordingOf = compilePolicy(defaultPolicy);
  it.each<[boolean, Partial<Attributes>]>([
    [false, { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }],
    [false, { group: 'authorization.k8s.io', resource: 'selfsubjectrulesreviews' }],
    [false, { group: 'authentication.k8s.io', resource: 'selfsubjectreviews' }],
    [true, { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' }],
    [true, { group: 'authentication.k8s.io', resource: 'tokenreviews' }],
  ])('are recorded (%s) by default: %j', (isRecorded, request) => {
    expect(recordingOf(asking(jane, 'create', request)) !== undefined).toBe(isRecorded);
  });
});

describe('a rule', () => {
  const pods: Partial<Attributes> = { resource: 'pods', namespace: 'shop', name: 'web' };
  const log: Partial<Attributes> = { ...pods, subresource: 'log' };
  const of = (...resources: string[]): Partial<AuditRule> => ({ resources: [{ group: '', resources }] });
  it.each<[boolean, Partial<AuditRule>, Partial<Attributes>]>([
    [true, {}, pods],
    [true, { users: ['jane'] }, pods],
    [false, { users: ['joe'] }, pods],
    [true, { userGroups: ['x', 'devs'] }, pods],
    [false, { userGroups: ['x'] }, pods],
    [true, { verbs: ['get'] }, pods],
    [false, { verbs: ['list'] }, pods],
    [true, { namespaces: ['shop'] }, pods],
    [false, { namespaces: ['other'] }, pods],
    [true, { namespaces: [''] }, { resource: 'nodes' }],
    [true, { resources: [{ group: '' }] }, pods],
    [false, { resources: [{ group: 'apps' }] }, pods],
    [true, of('pods'), pods],
    [false, of('pods'), log],
    [true, of('pods/log'), log],
    [true, of('*/log'), log],
    [true, of('pods/*'), log],
    [true, of('pods/*'), pods],
    [true, of('*'), log],
    [true, { resources: [{ group: '', resources: ['pods'], resourceNames: ['web'] }] }, pods],
    [false, { resources: [{ group: '', resources: ['pods'], resourceNames: ['api'] }] }, pods],
    [false, of('pods'), { path: '/metrics' }],
    [true, { nonResourceURLs: ['/metr*'] }, { path: '/metrics' }],
    [false, { nonResourceURLs: ['/metrics'] }, { path: '/metrics/x' }],
    [false, { nonResourceURLs: ['*'] }, pods],
  ])('matches (%s): %j for %j', (matches, rule, request) => {
    const recordingOf = compilePolicy({ rules: [{ level: 'Request', ...rule }] });
    expect(recordingOf(asking(jane, 'get', request)) !== undefined).toBe(matches);
  });

  it('wins if it comes first', () => {
    const policy: AuditPolicy = { rules: [{ level: 'None', users: ['jane'] }, { level: 'Request' }] };
    expect(compilePolicy(policy)(asking(jane, 'get', configMaps))).toBeUndefined();
    expect(compilePolicy({ rules: [...policy.rules].reverse() })(asking(jane, 'get', configMaps))).toMatchObject({ level: 'Request' });
  });

  it("adds to the policy's omitted stages, and can override omitManagedFields", () => {
    const policy: AuditPolicy = {
      rules: [{ level: 'Request', omitStages: ['Panic'], omitManagedFields: false }],
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
    };
    expect(compilePolicy(policy)(asking(jane, 'get', configMaps))).toEqual({
      level: 'Request',
      omitStages: ['RequestReceived', 'Panic'],
      omitManagedFields: false,
    });
  });
});

describe('a policy file', () => {
  const head = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n';

  it('is parsed as Kubernetes does', () => {
    const text = `${head}omitStages: [RequestReceived]\nrules:\n- level: Metadata\n  resources:\n  - group: ""\n    resources: [secrets]\n- {level: None, nonResourceURLs: ["/healthz*"]}\n`;
    expect(parseAuditPolicy(text)).toMatchObject({
      omitStages: ['RequestReceived'],
      rules: [
        { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
        { level: 'None', nonResourceURLs: ['/healthz*'] },
      ],
    });
  });

  it.each([
    ['rules: [', /not valid YAML: .*line/],
    ['- a', /policy: Invalid value: .* expected a mapping/],
    ['rules: []', /apiVersion: Required value; kind: Required value/],
    [`${head}`, /rules: Required value/],
    ['apiVersion: v1\nkind: Pod\nrules: []', /apiVersion: Unsupported value: "v1": .*; kind: Unsupported value: "Pod"/],
    [`${head}rules: [{}]`, /rules\[0\]\.level: Required value/],
    [`${head}rules: [{level: All}]`, /rules\[0\]\.level: Unsupported value: "All": supported values: "None", "Metadata"/],
    [
      `${head}rules: [{level: None}, {level: None, user: [jane]}]`,
      /rules\[1\]\.user: Invalid value: .*unknown field; known are level, users/,
    ],
    [`${head}rules: [{level: None, users: jane}]`, /rules\[0\]\.users: Invalid value: "jane": expected a list of strings/],
    [
      `${head}rules: [{level: None, omitStages: [Soon]}]`,
      /rules\[0\]\.omitStages\[0\]: Invalid value: "Soon": allowed stages are RequestReceived,/,
    ],
    [`${head}rules: [{level: None, resources: [{group: apps/v1}]}]`, /rules\[0\]\.resources\[0\]\.group: Invalid value: "apps\/v1"/],
    [`${head}rules: [{level: None, resources: [{group: apps, resourceNames: [a]}]}]`, /resourceNames: .*requires at least one resource/],
    [
      `${head}rules: [{level: None, nonResourceURLs: [healthz, "/a*b"]}]`,
      /nonResourceURLs\[0\]: .*must begin with a '\/'.*nonResourceURLs\[1\]: .*must be the final character/,
    ],
    [`${head}rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [b]}]`, /cannot apply to both/],
  ])('%j is rejected with its field or line', (text, message) => {
    expect(() => parseAuditPolicy(text)).toThrow(message);
  });
});

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const fail = (error: Error): never => {
  throw error;
};

describe('an event', () => {
  const request = (more: Partial<AuditedRequest> = {}): AuditedRequest => ({
    auditId: 'id-1',
    stage: 'ResponseComplete',
    requestUri: '/api/v1/namespaces/shop/configmaps?fieldManager=x',
    attributes: asking(jane, 'create', configMaps),
    sourceIps: ['127.0.0.1'],
    userAgent: 'kubectl',
    receivedAt: new Date('2026-01-02T03:04:05.678Z'),
    at: new Date('2026-01-02T03:04:05.789Z'),
    response: { code: 201 },
    object: { name: 'web', uid: 'u', resourceVersion: '7' },
    decision: { allowed: true, reason: 'RBAC: allowed' },
    requestObject: () => ({ kind: 'ConfigMap', metadata: { name: 'web', managedFields: [{}] }, data: { a: 'b' } }),
    responseObject: () => ({ kind: 'List', metadata: {}, items: [{ metadata: { managedFields: [{}] } }] }),
    ...more,
  });

  async function lines(policy: AuditPolicy, ...requests: AuditedRequest[]): Promise<Record<string, unknown>[]> {
    const file = join(directory, 'deep', 'audit.log');
    const log: AuditLog = auditLog({ file, policy, onError: fail });
    for (const one of requests) {
      const recording = log.recordingOf(one.attributes) ?? (one.response?.code === 403 ? log.denials : undefined);
      if (recording !== undefined) log.record(one, recording);
    }
    await log[Symbol.asyncDispose]();
    if (!existsSync(file)) return [];
    expect(statSync(file).mode & 0o777).toBe(0o600);
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  const at = (level: AuditRule['level']): AuditPolicy => ({ rules: [{ level }], omitManagedFields: true });

  it('records who did what, when, and with what result', async () => {
    expect(await lines(defaultPolicy, request())).toEqual([
      {
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        auditID: 'id-1',
        stage: 'ResponseComplete',
        requestURI: '/api/v1/namespaces/shop/configmaps?fieldManager=x',
        verb: 'create',
        user: { username: 'jane', groups: ['devs', 'system:authenticated'] },
        sourceIPs: ['127.0.0.1'],
        userAgent: 'kubectl',
        objectRef: { resource: 'configmaps', namespace: 'shop', name: 'web', uid: 'u', apiVersion: 'v1', resourceVersion: '7' },
        responseStatus: { metadata: {}, code: 201 },
        requestReceivedTimestamp: '2026-01-02T03:04:05.678000Z',
        stageTimestamp: '2026-01-02T03:04:05.789000Z',
        annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': 'RBAC: allowed' },
      },
    ]);
  });

  it('contains the bodies that its level asks for, without managed fields', async () => {
    const [asked] = await lines(at('Request'), request());
    expect(asked).toMatchObject({ requestObject: { metadata: { name: 'web' }, data: { a: 'b' } } });
    expect(JSON.stringify(asked)).not.toContain('managedFields');
    expect(asked).not.toHaveProperty('responseObject');
    const [, both] = await lines(at('RequestResponse'), request());
    expect(both).toMatchObject({ responseObject: { items: [{ metadata: {} }] } });
    expect(JSON.stringify(both)).not.toContain('managedFields');
  });

  it.each([
    { resource: 'secrets' },
    { resource: 'serviceaccounts', subresource: 'token' },
    { group: 'authentication.k8s.io', resource: 'tokenreviews' },
    { isResource: false, path: '/capstan/session-token' },
  ])('for %j never contains a body', async (attributes) => {
    const [event] = await lines(at('RequestResponse'), request({ attributes: asking(jane, 'create', attributes) }));
    expect(event).toMatchObject({ level: 'Metadata' });
    expect(event).not.toHaveProperty('requestObject');
    expect(event).not.toHaveProperty('responseObject');
  });

  it('for an impersonated user names both users', async () => {
    const [event] = await lines(defaultPolicy, request({ impersonator: { name: 'admin', groups: ['system:masters'] } }));
    expect(event).toMatchObject({ user: { username: 'admin' }, impersonatedUser: { username: 'jane' } });
  });

  it('is written for a denied read, and for no other read', async () => {
    const read = { attributes: asking(jane, 'get', configMaps) };
    const refused = request({
      ...read,
      response: { code: 403, status: 'Failure', reason: 'Forbidden', message: 'no' },
      decision: { allowed: false, reason: '' },
    });
    const events = await lines(defaultPolicy, request({ ...read, response: { code: 200 } }), refused);
    expect(events).toMatchObject([
      { verb: 'get', responseStatus: { code: 403, reason: 'Forbidden' }, annotations: { 'authorization.k8s.io/decision': 'forbid' } },
    ]);
  });

  it('says what the server decided, whatever webhooks and policies annotate', async () => {
    const annotations = { 'authorization.k8s.io/decision': 'forbid', 'team.example.com/checked': 'yes' };
    const [event] = await lines(defaultPolicy, request({ annotations }));
    expect(event).toMatchObject({ annotations: { 'authorization.k8s.io/decision': 'allow', 'team.example.com/checked': 'yes' } });
  });
  it('stays on one line, whatever names clients send', async () => {
    const hostile = 'x"}\n{"kind":"Event","user":{"username":"admin"}}\u2028\\';
    const user: User = { name: hostile, uid: hostile, groups: [hostile], extra: { [hostile]: [hostile] } };
    const attributes = asking(user, 'create', {
      resource: hostile,
      namespace: hostile,
      name: hostile,
      group: hostile,
      version: hostile,
      subresource: hostile,
    });
    const events = await lines(
      at('Request'),
      request({ attributes, userAgent: hostile, requestUri: hostile, auditId: hostile, annotations: { [hostile]: hostile } }),
    );
    expect(events).toMatchObject([
      {
        user: { username: hostile, extra: { [hostile]: [hostile] } },
        objectRef: { name: hostile, subresource: hostile },
        userAgent: hostile,
      },
    ]);
  });

  it('truncates long values and records their original length', async () => {
    const long = 'ä'.repeat(60_000);
    const many = Array.from({ length: 1000 }, (_, index) => `${index}${long}`);
    const extra = Object.fromEntries(many.map((name) => [name, many]));
    const user: User = { name: long, uid: long, groups: many, extra };
    const attributes = asking(user, long, { resource: long, namespace: long, name: long, group: long, version: long, subresource: long });
    const hostile = request({
      attributes,
      impersonator: { ...user },
      sourceIps: many,
      userAgent: long,
      requestUri: long,
      auditId: long,
      response: { code: 403, status: 'Failure', reason: 'Forbidden', message: long },
      decision: { allowed: false, reason: long },
      annotations: Object.fromEntries(many.map((name) => [name, long])),
    });
    const line = eventLine(hostile, { level: 'Metadata', omitStages: [], omitManagedFields: true });
    const event = JSON.parse(line) as { requestURI: string; userAgent: string; user: { username: string; groups: string[] } };
    expect(event.requestURI).toBe(`${'ä'.repeat(1024)}…(120000 bytes)`);
    expect(event.userAgent).toBe(`${'ä'.repeat(256)}…(120000 bytes)`);
    expect(event.user.username).toBe(`${'ä'.repeat(256)}…(120000 bytes)`);
    expect(event.user.groups.at(-1)).toBe('…(1000 entries)');
    expect(line.length).toBeLessThan(250_000);
    const allowed = eventLine(request({ requestUri: `/${'b'.repeat(5000)}` }), {
      level: 'Metadata',
      omitStages: [],
      omitManagedFields: true,
    });
    expect(allowed).toContain('b'.repeat(5000));
  });

  it('is omitted in the stages that the policy names', async () => {
    const events = await lines(defaultPolicy, request({ stage: 'RequestReceived' }), request());
    expect(events.map(({ stage }) => stage)).toEqual(['ResponseComplete']);
  });
});

describe('the log file', () => {
  const path = (): string => join(directory, 'audit.log');
  const backups = (): string[] =>
    readdirSync(directory)
      .filter((name) => name !== 'audit.log')
      .sort();
  let time = Date.parse('2026-01-01T00:00:00Z');
  const open = (more: Partial<LogFileOptions> = {}): LogFile =>
    new LogFile({ file: path(), onError: fail, now: () => new Date(time), ...more });

  it('keeps lines in order, however many are written at once', async () => {
    const file = open();
    for (let index = 0; index < 1000; index++) {
      file.write(`${index}\n`);
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await file[Symbol.asyncDispose]();
    expect(readFileSync(path(), 'utf8').trimEnd().split('\n')).toEqual(Array.from({ length: 1000 }, (_, index) => String(index)));
  });

  it('does not stay open for lines that come after its end', async () => {
    const file = open();
    file.write('one\n');
    await file[Symbol.asyncDispose]();
    file.write('two\n');
    await file.flush();
    expect(readFileSync(path(), 'utf8')).toBe('one\ntwo\n');
    const opened = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
    expect(opened.filter((fd) => existsSync(fd) && readlinkSync(fd) === path())).toEqual([]);
  });

  it('appends to the file of an earlier process', async () => {
    writeFileSync(path(), 'before\n');
    const file = open();
    file.write('after\n');
    await file[Symbol.asyncDispose]();
    expect(readFileSync(path(), 'utf8')).toBe('before\nafter\n');
  });

  it('is rotated when full; backups are removed by count and by age', async () => {
    const file = open({ maxSize: 10, maxBackups: 3, maxAge: 10 });
    for (let index = 0; index < 6; index++) {
      file.write(`line ${index}\n`);
      await file.flush();
      time += 86_400_000;
    }
    expect(backups()).toHaveLength(3);
    expect(readFileSync(join(directory, backups()[2]!), 'utf8')).toBe('line 4\n');
    time += 30 * 86_400_000;
    file.write('line 6\n');
    await file[Symbol.asyncDispose]();
    expect(backups()).toEqual([expect.stringMatching(/^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/)]);
    expect(readFileSync(path(), 'utf8')).toBe('line 6\n');
  });

  it('leaves other files in the directory alone', async () => {
    writeFileSync(join(directory, 'audit-policy.log'), 'x');
    const file = open({ maxSize: 1, maxBackups: 0 });
    for (const line of ['a\n', 'b\n']) {
      file.write(line);
      await file.flush();
    }
    await file[Symbol.asyncDispose]();
    expect(backups()).toEqual(['audit-policy.log']);
  });

  it('reports a failing disk once, counts lost lines, and retries', async () => {
    mkdirSync(path());
    const errors: string[] = [];
    const file = open({ onError: ({ message }) => errors.push(message) });
    for (let index = 0; index < 3; index++) {
      file.write('lost\n');
      await file.flush();
    }
    expect([errors.length, file.dropped]).toEqual([1, 3]);
    expect(errors[0]).toContain(`${path()} cannot be written`);
    rmSync(path(), { recursive: true });
    file.write('kept\n');
    await file[Symbol.asyncDispose]();
    expect([readFileSync(path(), 'utf8').trim(), file.dropped]).toEqual(['kept', 3]);
  });

  it('drops lines when the disk is too slow, to bound memory', () => {
    const errors: string[] = [];
    const file = open({ onError: ({ message }) => errors.push(message) });
    const line = `${'x'.repeat(1024 * 1024)}\n`;
    for (let index = 0; index < 20; index++) file.write(line);
    expect([errors.length, file.dropped]).toEqual([1, 5]);
    return file[Symbol.asyncDispose]();
  });
});

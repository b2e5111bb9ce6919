import type { KubeObject } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { podStatus } from './pod-status.ts';

const podOf = (status: object, spec: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c' }], ...spec },
  status,
});

const prepared = (pod: KubeObject, old: KubeObject): KubeObject => {
  podStatus.prepareForUpdate!(pod, old, contextOf());
  return pod;
};

const errorsOf = (pod: KubeObject, old: KubeObject): string[] =>
  podStatus.validateUpdate!(pod, old, contextOf()).map(({ field, body }) => `${field}: ${body}`);

describe('the status of a pod', () => {
  it('keeps fields that kubelets omit', () => {
    const old = podOf({ qosClass: 'Burstable', observedGeneration: 3, conditions: [{ type: 'Ready', observedGeneration: 2 }] });
    const pod = prepared(podOf({ conditions: [{ type: 'Other' }, { type: 'Ready' }] }), old);
    expect(pod['status']).toEqual({
      qosClass: 'Burstable',
      observedGeneration: 3,
      conditions: [{ type: 'Other' }, { type: 'Ready', observedGeneration: 2 }],
    });
  });

  it('does not change owner references', () => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u' };
    expect(prepared(podOf({}, {}, { ownerReferences: [owner] }), podOf({})).metadata.ownerReferences).toBeUndefined();
    expect(prepared(podOf({}), podOf({}, {}, { ownerReferences: [owner] })).metadata.ownerReferences).toEqual([owner]);
  });

  it('does not change the deletion timestamp', () => {
    const deletionTimestamp = '2020-01-01T00:00:00Z';
    expect(prepared(podOf({}, {}, { deletionTimestamp }), podOf({})).metadata.deletionTimestamp).toBeUndefined();
    expect(prepared(podOf({}), podOf({}, {}, { deletionTimestamp })).metadata.deletionTimestamp).toBe(deletionTimestamp);
  });

  const ended = { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 1 } } }] };
  const running = { containerStatuses: [{ name: 'c', state: { running: {} } }] };

  it('does not let a terminated container run again, unless the pod restarts it', () => {
    const refused = ['status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'];
    expect(errorsOf(podOf(running), podOf(ended))).toEqual(refused);
    expect(errorsOf(podOf(running), podOf(ended, { restartPolicy: 'OnFailure' }))).toEqual([]);
    expect(errorsOf(podOf(ended), podOf(running))).toEqual([]);
  });

  it.each([
    [{ qosClass: 'Guaranteed' }, 'status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    [{ podIPs: [{ ip: 'x' }] }, 'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    [{ observedGeneration: -1 }, 'status.observedGeneration: Invalid value: -1: must be a non-negative integer'],
    [{ hostIPs: [{ ip: '10.0.0.1' }] }, 'status.hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`'],
  ])('is rejected with %j', (status, error) => {
    expect(errorsOf(podOf(status), podOf({}))).toEqual([error]);
  });
});

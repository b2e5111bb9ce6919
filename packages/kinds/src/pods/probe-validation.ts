import { type FieldPath, type Fields, isAbsent, itemsOf, maybeFields, names, numberOf, textOf, textsOf } from '@capstan/machinery';
import { portOrNameProblems } from '../services/service-validation.ts';
import type { Findings } from '../shared/findings.ts';

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];

function checkPort(found: Findings, at: FieldPath, port: unknown): void {
  found.invalid(at, port ?? 0, portOrNameProblems(port));
}

function checkHandlerFields(found: Findings, at: FieldPath, { kind, fields }: { kind: string; fields: Fields }): void {
  switch (kind) {
    case 'exec':
      if (textsOf(fields['command']).length === 0) found.required(at.child('command'));
      return;
    case 'httpGet':
      if (textOf(fields['path']) === '') found.required(at.child('path'));
      checkPort(found, at.child('port'), fields['port']);
      if (fields['scheme'] !== 'HTTP' && fields['scheme'] !== 'HTTPS')
        found.notSupported(at.child('scheme'), fields['scheme'], ['HTTP', 'HTTPS']);
      checkHeaders(found, at.child('httpHeaders'), itemsOf(fields['httpHeaders']));
      return;
    case 'tcpSocket':
      checkPort(found, at.child('port'), fields['port']);
      return;
    case 'grpc':
      found.invalid(at.child('port'), numberOf(fields['port']), names.portNumber(numberOf(fields['port'])));
      return;
  }
}

function checkHeaders(found: Findings, at: FieldPath, headers: readonly Fields[]): void {
  for (const header of headers) {
    const name = textOf(header['name']);
    if (!/^[-A-Za-z0-9]+$/.test(name)) {
      found.invalid(
        at,
        name,
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      );
    }
  }
}

function checkHandler(found: Findings, at: FieldPath, handler: Fields): void {
  const given = handlers.filter((kind) => !isAbsent(handler[kind]));
  if (given.length === 0) found.required(at, 'must specify a handler type');
  for (const [index, kind] of given.entries()) {
    if (index > 0) found.forbidden(at.child(kind), 'may not specify more than 1 handler type');
    else checkHandlerFields(found, at.child(kind), { kind, fields: maybeFields(handler[kind]) ?? {} });
  }
}

const counts = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'];

function checkProbe(found: Findings, at: FieldPath, { probe, isReadiness }: { probe: Fields; isReadiness: boolean }): void {
  checkHandler(found, at, probe);
  for (const field of counts) found.nonNegative(at.child(field), probe[field]);
  const period = probe['terminationGracePeriodSeconds'];
  if (!isAbsent(period) && numberOf(period) <= 0)
    found.invalid(at.child('terminationGracePeriodSeconds'), period, 'must be greater than 0');
  if (isReadiness) {
    if (!isAbsent(period)) found.invalid(at.child('terminationGracePeriodSeconds'), period, 'must not be set for readinessProbes');
  } else if (probe['successThreshold'] !== 1) found.invalid(at.child('successThreshold'), probe['successThreshold'], 'must be 1');
}

export const probeFields = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/** Validates the lifecycle hooks and probes of a container. */
export function checkLife(found: Findings, at: FieldPath, container: Readonly<Fields>): void {
  const lifecycle = maybeFields(container['lifecycle']) ?? {};
  for (const hook of ['postStart', 'preStop']) {
    const handler = maybeFields(lifecycle[hook]);
    if (handler !== undefined) checkHandler(found, at.child('lifecycle', hook), handler);
  }
  for (const field of probeFields) {
    const probe = maybeFields(container[field]);
    if (probe !== undefined) checkProbe(found, at.child(field), { probe, isReadiness: field === 'readinessProbe' });
  }
}

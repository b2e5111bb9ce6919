import {
  type FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  maybeFields,
  names,
  textOf,
  textsOf,
} from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { repeats } from '../shared/repeats.ts';
import { checkDriverName } from '../volumes/volume-sources.ts';

const longestIdentifier = 32;
const longestParameters = 10 * 1024;
const mostConfigurations = 32;
const mostRequests = 32;

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const identifierRule =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function checkIdentifier(found: Findings, at: FieldPath, name: string): void {
  if (Buffer.byteLength(name) > longestIdentifier) found.add([fieldError.tooLong(at, longestIdentifier)]);
  if (!identifier.test(name)) found.invalid(at, name, identifierRule);
}

/** Validates the name of an attribute or capacity, with an optional domain. */
function checkAttributeName(found: Findings, at: FieldPath, name: string): void {
  if (name === '') {
    found.required(at, 'name required');
    return;
  }
  const parts = name.split('/');
  if (parts.length === 1) checkIdentifier(found, at, name);
  if (parts.length !== 2) return;
  const [domain, rest] = parts as [string, string];
  if (domain === '') found.required(at, 'the domain must not be empty');
  else checkDriverName(found, at, domain);
  if (rest === '') found.required(at, 'the name must not be empty');
  else checkIdentifier(found, at, rest);
}

function checkFullAttributeName(found: Findings, at: FieldPath, name: string): void {
  checkAttributeName(found, at, name);
  if (name !== '' && !name.includes('/')) found.invalid(at, name, 'must include a domain');
}

/** Validates opaque configurations for drivers. */
export function checkConfigurations(found: Findings, at: FieldPath, configurations: readonly Fields[]): void {
  if (configurations.length > mostConfigurations) found.tooMany(at, configurations.length, mostConfigurations);
  for (const [index, configuration] of configurations.entries()) checkConfiguration(found, at.index(index), configuration);
}

export function checkConfiguration(found: Findings, at: FieldPath, configuration: Readonly<Fields>): void {
  const opaque = maybeFields(configuration['opaque']);
  if (opaque === undefined) {
    found.required(at.child('opaque'));
    return;
  }
  checkDriverName(found, at.child('opaque', 'driver'), textOf(opaque['driver']));
  checkDriverData(found, at.child('opaque', 'parameters'), opaque['parameters']);
}

/** Validates an object that only the driver interprets. */
export function checkDriverData(found: Findings, at: FieldPath, value: unknown): void {
  if (isAbsent(value)) found.required(at);
  else if (Buffer.byteLength(JSON.stringify(value)) > longestParameters) found.add([fieldError.tooLong(at, longestParameters)]);
  else if (maybeFields(value) === undefined) found.invalid(at, '<value omitted>', 'must be a valid JSON object');
}

const unknownRequest = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** Validates references to requests, or to subrequests of one. */
export function checkRequestNames(
  found: Findings,
  at: FieldPath,
  { requests, known }: { requests: readonly string[]; known: ReadonlySet<string> },
): void {
  for (const [index, name] of requests.entries()) checkRequestReference(found, at.index(index), { name, known });
  if (requests.length > mostRequests) found.tooMany(at, requests.length, mostRequests);
  const isRepeated = repeats<string>();
  for (const [index, name] of requests.entries()) if (isRepeated(name)) found.duplicate(at.index(index), name);
}

export function checkRequestReference(found: Findings, at: FieldPath, { name, known }: { name: string; known: ReadonlySet<string> }): void {
  const parts = name.split('/');
  if (parts.length <= 2) for (const part of parts) found.invalid(at, part, names.dns1123Label(part));
  if (parts.length > 2 || !known.has(name)) found.invalid(at, name, unknownRequest);
}

export function requestNamesOf(devices: Readonly<Fields>): ReadonlySet<string> {
  const known = new Set<string>();
  for (const entry of itemsOf(devices['requests'])) {
    known.add(textOf(entry['name']));
    for (const choice of itemsOf(entry['firstAvailable'])) known.add(`${textOf(entry['name'])}/${textOf(choice['name'])}`);
  }
  return known;
}

export function checkConstraints(found: Findings, at: FieldPath, devices: Readonly<Fields>): void {
  const known = requestNamesOf(devices);
  for (const [index, constraint] of itemsOf(devices['constraints']).entries()) {
    const path = at.child('constraints').index(index);
    checkRequestNames(found, path.child('requests'), { requests: textsOf(constraint['requests']), known });
    if (!isAbsent(constraint['matchAttribute']))
      checkFullAttributeName(found, path.child('matchAttribute'), textOf(constraint['matchAttribute']));
    else found.required(path.child('matchAttribute'));
  }
  for (const [index, configuration] of itemsOf(devices['config']).entries()) {
    const path = at.child('config').index(index);
    checkRequestNames(found, path.child('requests'), { requests: textsOf(configuration['requests']), known });
    checkConfiguration(found, path, configuration);
  }
}

export function checkDeviceTolerations(found: Findings, at: FieldPath, tolerations: readonly Fields[]): void {
  for (const [index, toleration] of tolerations.entries()) {
    const path = at.index(index);
    const [key, operator, value] = [textOf(toleration['key']), textOf(toleration['operator']), textOf(toleration['value'])];
    if (key !== '') found.invalid(path.child('key'), key, names.qualifiedName(key));
    if (operator === 'Exists') {
      if (value !== '') found.invalid(path.child('value'), value, 'must be empty for operator `Exists`');
    } else if (operator === 'Equal') found.invalid(path.child('value'), value, names.labelValue(value));
    else found.oneOf(path.child('operator'), operator, ['Equal', 'Exists']);
    const effect = textOf(toleration['effect']);
    if (effect !== '') found.oneOf(path.child('effect'), effect, ['NoExecute', 'NoSchedule']);
  }
}

const attributeKinds = ['bool', 'int', 'string', 'version'];

/** Attributes have exactly one value; capacities have an amount. */
export function checkDeviceParts(found: Findings, at: FieldPath, device: Readonly<Fields>): void {
  for (const [name, attribute] of Object.entries(fieldsOf(device['attributes']))) {
    const path = at.child('attributes').key(name);
    checkAttributeName(found, path, name);
    const given = fieldsOf(attribute);
    const count = attributeKinds.filter((kind) => !isAbsent(given[kind])).length;
    if (count === 0) found.required(path, 'exactly one value must be specified');
    else if (count > 1) found.invalid(path, shownAttribute(given), 'exactly one value must be specified');
  }
  for (const name of Object.keys(fieldsOf(device['capacity']))) checkAttributeName(found, at.child('capacity').key(name), name);
}

function shownAttribute({ int, bool, string, version }: Readonly<Fields>): Fields {
  return { IntValue: int ?? null, BoolValue: bool ?? null, StringValue: string ?? null, VersionValue: version ?? null };
}

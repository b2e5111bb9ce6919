import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  jsonKey,
  type KubeObject,
  maybeFields,
  names,
  sameJson,
  textOf,
  textsOf,
  validateConditions,
} from '@capstan/machinery';
import { checkNodeSelector } from '../pods/scheduling.ts';
import { interfaceAddressProblems } from '../services/addresses.ts';
import { Findings } from '../shared/findings.ts';
import { goForm } from '../shared/go-form.ts';
import { repeats } from '../shared/repeats.ts';
import { keepMetadata } from '../shared/status.ts';
import type { StrategyContext } from '../strategy.ts';
import { checkDriverName } from '../volumes/volume-sources.ts';
import { checkConfiguration, checkDriverData, checkRequestNames, checkRequestReference, requestNamesOf } from './device-parts.ts';

const mostConsumers = 256;
const mostResults = 32;
const mostConfigurations = 64;
const mostConditions = 8;
const mostAddresses = 16;
const longestPool = 253;
const longestInterface = 256;
const longestHardwareAddress = 128;

const at = FieldPath.of('status');

const deviceOf = ({ driver, pool, device }: Readonly<Fields>): string => JSON.stringify([driver, pool, device]);

/** Kubernetes prints every device this way. */
const shownDevice = { Driver: {}, Pool: {}, Device: {}, ShareID: {} };

function resultsOf(claim: KubeObject): readonly Fields[] {
  return itemsOf(fieldsOf(fieldsOf(fieldsOf(claim['status'])['allocation'])['devices'])['results']);
}

/** Drops device reports of drivers when the device is no longer allocated to the claim. */
export function prepareClaimStatus(claim: KubeObject, old: KubeObject): void {
  keepMetadata(claim, old);
  const status = maybeFields(claim['status']);
  if (status?.['devices'] === undefined) return;
  const gone = new Set(resultsOf(old).map(deviceOf));
  for (const result of resultsOf(claim)) gone.delete(deviceOf(result));
  const left = itemsOf(status['devices']).filter((device) => !gone.has(deviceOf(device)));
  if (left.length === 0) delete status['devices'];
  else status['devices'] = left;
}

/** Validates updates by schedulers and drivers: reservations, the allocation and device reports. */
export function validateClaimStatus(claim: KubeObject, old: KubeObject, context: StrategyContext): FieldError[] {
  const found = new Findings();
  const [status, before] = [fieldsOf(claim['status']), fieldsOf(old['status'])];
  const hadAccess = resultsOf(old).some(({ adminAccess }) => adminAccess === true);
  const asked = resultsOf(claim).findIndex(({ adminAccess }) => adminAccess === true);
  if (!hadAccess && asked !== -1)
    checkAdminAccess(found, at.child('allocation', 'devices', 'results').index(asked).child('adminAccess'), { claim, context });
  checkConsumers(found, itemsOf(status['reservedFor']));
  checkDevices(found, itemsOf(status['devices']), new Set(resultsOf(claim).map(deviceOf)));
  checkReservation(found, claim, before);
  const [allocation, oldAllocation] = [maybeFields(status['allocation']), maybeFields(before['allocation'])];
  if (allocation === undefined) return found.errors;
  const path = at.child('allocation');
  if (oldAllocation !== undefined) found.immutable(path, goForm('AllocationResult', allocation), sameJson(allocation, oldAllocation));
  else checkAllocation(found, path, { allocation, known: requestNamesOf(fieldsOf(fieldsOf(claim['spec'])['devices'])) });
  return found.errors;
}

const adminLabel = 'resource.kubernetes.io/admin-access';

/** Admin access, to devices that may be in use elsewhere, requires a label on the namespace. */
export function checkAdminAccess(
  found: Findings,
  path: FieldPath,
  { claim, context: { cluster, objects } }: { claim: KubeObject; context: StrategyContext },
): void {
  const namespace = objects.get({ group: '', resource: 'namespaces', cluster, namespace: '', name: claim.metadata.namespace ?? '' });
  if (namespace?.metadata.labels?.[adminLabel] !== 'true')
    found.forbidden(path, `admin access to devices requires the \`${adminLabel}: true\` label on the containing namespace`);
}

function checkConsumers(found: Findings, consumers: readonly Fields[]): void {
  const path = at.child('reservedFor');
  for (const [index, consumer] of consumers.entries())
    for (const field of ['resource', 'name', 'uid']) if (textOf(consumer[field]) === '') found.required(path.index(index).child(field));
  if (consumers.length > mostConsumers) found.tooMany(path, consumers.length, mostConsumers);
  const seen = new Set<string>();
  for (const [index, { uid }] of consumers.entries()) {
    if (seen.has(textOf(uid))) found.duplicate(path.index(index).child('uid'), textOf(uid));
    seen.add(textOf(uid));
  }
}

function checkReservation(found: Findings, claim: KubeObject, before: Readonly<Fields>): void {
  const { reservedFor, allocation } = fieldsOf(claim['status']);
  const path = at.child('reservedFor');
  const consumers = itemsOf(reservedFor);
  if (consumers.length === 0) return;
  if (isAbsent(allocation)) {
    found.forbidden(path, 'may not be specified when `allocated` is not set');
    return;
  }
  const known = new Set(itemsOf(before['reservedFor']).map(jsonKey));
  const isNew = (consumer: Fields): boolean => !known.has(jsonKey(consumer));
  if (claim.metadata.deletionTimestamp !== undefined && consumers.some(isNew))
    found.forbidden(path, 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set');
}

function checkDeviceName(found: Findings, path: FieldPath, { driver, pool, device }: Readonly<Fields>): void {
  checkDriverName(found, path.child('driver'), textOf(driver));
  checkPoolName(found, path.child('pool'), textOf(pool));
  found.invalid(path.child('device'), textOf(device), names.dns1123Label(textOf(device)));
}

function checkPoolName(found: Findings, path: FieldPath, name: string): void {
  if (name === '') {
    found.required(path);
    return;
  }
  if (Buffer.byteLength(name) > longestPool) found.add([fieldError.tooLong(path, longestPool)]);
  for (const part of name.split('/')) found.invalid(path, part, names.dns1123Subdomain(part));
}

function checkDevices(found: Findings, devices: readonly Fields[], allocated: ReadonlySet<string>): void {
  const path = at.child('devices');
  for (const [index, device] of devices.entries()) checkDevice(found, path.index(index), { device, allocated });
  const seen = new Set<string>();
  for (const [index, device] of devices.entries()) {
    if (seen.has(deviceOf(device))) found.duplicate(path.index(index).child('deviceID'), shownDevice);
    seen.add(deviceOf(device));
  }
}

function checkDevice(
  found: Findings,
  path: FieldPath,
  { device, allocated }: { device: Readonly<Fields>; allocated: ReadonlySet<string> },
): void {
  checkDeviceName(found, path, device);
  if (!allocated.has(deviceOf(device))) found.invalid(path, shownDevice, 'must be an allocated device in the claim');
  const conditions = itemsOf(device['conditions']);
  if (conditions.length > mostConditions) found.tooMany(path.child('conditions'), conditions.length, mostConditions);
  found.add(validateConditions(conditions, path.child('conditions')));
  if (!isAbsent(device['data'])) checkDriverData(found, path.child('data'), device['data']);
  const network = maybeFields(device['networkData']);
  if (network !== undefined) checkNetwork(found, path.child('networkData'), network);
}

function checkNetwork(found: Findings, path: FieldPath, { interfaceName, hardwareAddress, ips }: Readonly<Fields>): void {
  if (Buffer.byteLength(textOf(interfaceName)) > longestInterface)
    found.add([fieldError.tooLong(path.child('interfaceName'), longestInterface)]);
  if (Buffer.byteLength(textOf(hardwareAddress)) > longestHardwareAddress)
    found.add([fieldError.tooLong(path.child('hardwareAddress'), longestHardwareAddress)]);
  const addresses = textsOf(ips);
  const within = path.child('ips');
  for (const [index, address] of addresses.entries()) found.invalid(within.index(index), address, interfaceAddressProblems(address));
  if (addresses.length > mostAddresses) found.tooMany(within, addresses.length, mostAddresses);
  const isRepeated = repeats<string>();
  for (const [index, address] of addresses.entries()) if (isRepeated(address)) found.duplicate(within.index(index), address);
}

function checkAllocation(
  found: Findings,
  path: FieldPath,
  { allocation, known }: { allocation: Readonly<Fields>; known: ReadonlySet<string> },
): void {
  const devices = fieldsOf(allocation['devices']);
  const results = itemsOf(devices['results']);
  const resultsPath = path.child('devices', 'results');
  for (const [index, result] of results.entries()) {
    checkRequestReference(found, resultsPath.index(index).child('request'), { name: textOf(result['request']), known });
    checkDeviceName(found, resultsPath.index(index), result);
  }
  if (results.length > mostResults) found.tooMany(resultsPath, results.length, mostResults);
  const configurations = itemsOf(devices['config']);
  const configPath = path.child('devices', 'config');
  for (const [index, configuration] of configurations.entries()) {
    const within = configPath.index(index);
    found.oneOf(within.child('source'), configuration['source'], ['FromClaim', 'FromClass']);
    checkRequestNames(found, within.child('requests'), { requests: textsOf(configuration['requests']), known });
    checkConfiguration(found, within, configuration);
  }
  if (configurations.length > mostConfigurations) found.tooMany(configPath, configurations.length, mostConfigurations);
  const selector = maybeFields(allocation['nodeSelector']);
  if (selector !== undefined) checkNodeSelector(found, path.child('nodeSelector'), selector);
}

import { type FieldPath, type Fields, isAbsent, names, numberOf, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';

const forms: readonly (readonly [prefix: string, form: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/],
  ['eui', /^eui.[A-Za-z0-9]{16}$/],
  ['naa', /^naa.[A-Za-z0-9]{32}$/],
];

const longestName = 64;

interface Portal {
  readonly fields: Readonly<Fields>;
  readonly persistentName: string | undefined;
}

export function checkIscsi(found: Findings, at: FieldPath, { fields, persistentName }: Portal): void {
  const portal = textOf(fields['targetPortal']);
  const isPersistent = persistentName !== undefined;
  if (portal === '') found.required(at.child('targetPortal'));
  if (isPersistent) checkNameLength(found, at.child('targetportal'), { fields, name: persistentName, shown: portal });
  if (textOf(fields['iqn']) === '') found.required(at.child('iqn'));
  else checkInitiator(found, at.child('iqn'), { name: textOf(fields['iqn']), isPersistent });
  const lun = numberOf(fields['lun']);
  if (lun < 0 || lun > 255) found.invalid(at.child('lun'), lun, names.rangeMessage(0, 255));
  const asksForSecret = fields['chapAuthDiscovery'] === true || fields['chapAuthSession'] === true;
  if (asksForSecret && isAbsent(fields['secretRef'])) found.required(at.child('secretRef'));
  if (isPersistent && !isAbsent(fields['secretRef']) && textOf((fields['secretRef'] as Fields)['name']) === '')
    found.required(at.child('secretRef', 'name'));
  if (!isAbsent(fields['initiatorName']))
    checkInitiator(found, at.child('initiatorname'), { name: textOf(fields['initiatorName']), isPersistent });
}

function checkInitiator(found: Findings, at: FieldPath, { name, isPersistent }: { name: string; isPersistent: boolean }): void {
  const form = forms.find(([prefix]) => name.startsWith(prefix));
  if (form === undefined)
    found.invalid(at, name, isPersistent ? 'must be valid format' : 'must be valid format starting with iqn, eui, or naa');
  else if (!form[1].test(name)) found.invalid(at, name, 'must be valid format');
}

/** The node stores an initiator under the names of its volume and portal, which limits their length. */
export function checkNameLength(
  found: Findings,
  at: FieldPath,
  { fields, name, shown }: { fields: Readonly<Fields>; name: string; shown: string },
): void {
  if (isAbsent(fields['initiatorName']) || Buffer.byteLength(`${name}:${textOf(fields['targetPortal'])}`) <= longestName) return;
  const rule = 'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
  found.invalid(at, shown, rule);
}

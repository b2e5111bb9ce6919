import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiBinding } from '@capstan/api';
import { isAlreadyExists } from '@capstan/client';
import { Failure } from '../failure.ts';
import { type BoundClaim, bindingsOf, claimName, decided, parseClaimName, whyNotBound } from '../workspaces/binding.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

export interface BindFlags extends ConnectionFlags {
  readonly name?: string;
  readonly acceptPermissionClaim?: readonly string[];
  readonly rejectPermissionClaim?: readonly string[];
  /** In seconds. */
  readonly timeout: number;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Binds an export of another workspace into this one, and waits until its resources are served. */
export async function bind(reference: string, flags: BindFlags): Promise<void> {
  const { path, name: exported } = parseReference(reference);
  using client = workspaceClient(flags);
  const bindings = bindingsOf(client);
  const name = flags.name ?? exported;
  const wanted: ApiBinding = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path, name: exported } } },
  };
  try {
    await bindings.create(wanted);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { spec } = await bindings.get(name);
    const bound = spec?.reference?.export;
    if (bound?.name !== exported || (bound.path ?? '') !== path) {
      throw new Failure(
        'usage',
        `a binding "${name}" already exists, to ${bound?.path ?? ''}:${bound?.name}. Choose another name with --name.`,
      );
    }
  }
  const binding = await settled(bindings, name, { claims: choices(flags), deadline: Date.now() + flags.timeout * 1000 });
  const resources = (binding.status?.boundResources ?? []).map(({ group, resource }) => `${resource}${group ? `.${group}` : ''}`);
  write(`${reference} is bound as "${name}": ${resources.join(', ')} can be used here.`);
  const open = (binding.status?.exportPermissionClaims ?? []).filter(
    (claim) => !(binding.spec?.permissionClaims ?? []).some((one) => claimName(one) === claimName(claim)),
  );
  if (open.length > 0) {
    write(
      `It also claims access to ${open.map(claimName).join(', ')}: decide with "capstan claims accept ${name} ${claimName(open[0]!)}" or "capstan claims reject".`,
    );
  }
}

interface Choice {
  readonly claim: { readonly group: string; readonly resource: string };
  readonly state: BoundClaim['state'];
}

function choices({ acceptPermissionClaim = [], rejectPermissionClaim = [] }: BindFlags): Choice[] {
  return [
    ...acceptPermissionClaim.map((text): Choice => ({ claim: parseClaimName(text), state: 'Accepted' })),
    ...rejectPermissionClaim.map((text): Choice => ({ claim: parseClaimName(text), state: 'Rejected' })),
  ];
}

/** `root:ai:models` is the export `models` of the workspace `root:ai`. */
function parseReference(text: string): { path: string; name: string } {
  const colon = text.lastIndexOf(':');
  if (colon <= 0 || colon === text.length - 1) {
    throw new Failure('usage', `expected an export as path:name, such as root:ai:models, found "${text}".`);
  }
  return { path: text.slice(0, colon), name: text.slice(colon + 1) };
}

async function settled(
  bindings: ReturnType<typeof bindingsOf>,
  name: string,
  { claims, deadline }: { claims: readonly Choice[]; deadline: number },
): Promise<ApiBinding> {
  const open = [...claims];
  for (let wait = 50; ; wait = Math.min(wait * 2, 1000)) {
    const binding = await bindings.get(name);
    const asked = binding.status?.exportPermissionClaims ?? [];
    const next = open.findIndex(({ claim }) => asked.some((one) => claimName(one) === claimName(claim)));
    if (next >= 0) {
      const [{ claim, state } = open[0]!] = open.splice(next, 1);
      const permissionClaims = decided(binding, asked.find((one) => claimName(one) === claimName(claim))!, state);
      await bindings.update({ ...binding, spec: { ...binding.spec, permissionClaims } });
      continue;
    }
    if (binding.status?.phase === 'Bound') {
      if (open.length === 0) return binding;
      const names = asked.map(claimName).join(', ') || 'nothing';
      throw new Failure('usage', `the export does not claim ${claimName(open[0]!.claim)}; it claims ${names}.`);
    }
    if (Date.now() > deadline) {
      throw new Failure('unexpected', `"${name}" is not bound yet. ${whyNotBound(binding)}`.trim());
    }
    await sleep(wait);
  }
}

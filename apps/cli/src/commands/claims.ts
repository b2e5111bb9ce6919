import type { ApiBinding } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { type BoundClaim, bindingsOf, claimName, decided, parseClaimName, stateOf } from '../workspaces/binding.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Lists the permission claims of the bound exports, and whether each was accepted. */
export async function listClaims(name: string | undefined, flags: ConnectionFlags): Promise<void> {
  using client = workspaceClient(flags);
  const bindings = name === undefined ? (await bindingsOf(client).list()).items : [await found(bindingsOf(client), name)];
  const rows = bindings.flatMap((binding) =>
    (binding.status?.exportPermissionClaims ?? []).map((claim) => [
      binding.metadata.name ?? '',
      claimName(claim),
      claim.verbs.join(','),
      stateOf(binding, claim),
    ]),
  );
  if (rows.length === 0) return write('No bound export claims access to other resources.');
  for (const line of columns([['BINDING', 'RESOURCE', 'VERBS', 'STATE'], ...rows])) write(line);
}

/** Accepts or rejects permission claims of a bound export. */
export async function decideClaims(
  name: string,
  { claims, state, ...flags }: ConnectionFlags & { claims: readonly string[]; state: BoundClaim['state'] },
): Promise<void> {
  using client = workspaceClient(flags);
  const bindings = bindingsOf(client);
  let binding = await found(bindings, name);
  const asked = binding.status?.exportPermissionClaims ?? [];
  for (const text of claims) {
    const wanted = claimName(parseClaimName(text));
    const claim = asked.find((one) => claimName(one) === wanted);
    if (claim === undefined)
      throw new Failure('usage', `the export does not claim ${wanted}; it claims ${asked.map(claimName).join(', ') || 'nothing'}.`);
    binding = { ...binding, spec: { ...binding.spec, permissionClaims: decided(binding, claim, state) } };
  }
  await bindings.update(binding);
  write(`${name}: ${claims.join(', ')} ${state === 'Accepted' ? 'accepted' : 'rejected'}.`);
}

async function found(bindings: ReturnType<typeof bindingsOf>, name: string): Promise<ApiBinding> {
  try {
    return await bindings.get(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Failure('usage', `there is no binding "${name}" in this workspace. "kubectl get apibindings" lists them.`, error);
  }
}

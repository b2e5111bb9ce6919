import { kubeClient } from '../kube/client.ts';
import { clusterRoleBindingKind, type RoleBinding } from '../kube/core-kinds.ts';
import { bindingFor, bindingWithout, type Member } from './members.ts';

/** Gives a member another role. The role of a binding never changes, so the member gets another binding, and leaves the one before only then. */
export async function changeRole(workspace: string, { subject, binding }: Member, role: string): Promise<void> {
  const bindings = kubeClient(workspace).resource<RoleBinding>(clusterRoleBindingKind);
  await bindings.create(bindingFor(subject, role));
  const rest = bindingWithout(await bindings.get(binding), subject);
  if (rest === undefined) await bindings.delete(binding);
  else await bindings.update(rest);
}

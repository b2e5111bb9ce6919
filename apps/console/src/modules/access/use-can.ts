import type { KindReference } from '@capstan/api';
import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { kubeClient, type Place } from '../kube/client.ts';

/** An action that the API server may allow or refuse. */
export type Action =
  | (Place & {
      readonly verb: string;
      readonly kind: Pick<KindReference, 'group' | 'resource'>;
      readonly subresource?: string;
      readonly name?: string;
    })
  | { readonly workspace: string; readonly verb: string; readonly url: string };

function attributesOf(action: Action): object {
  if ('url' in action) return { nonResourceAttributes: { verb: action.verb, path: action.url } };
  const { verb, kind, subresource, name, namespace } = action;
  const { group, resource } = kind;
  return {
    resourceAttributes: {
      verb,
      group,
      resource,
      ...(subresource && { subresource }),
      ...(name && { name }),
      ...(namespace && { namespace }),
    },
  };
}

async function ask(action: Action): Promise<boolean> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: attributesOf(action) };
  const { status } = await kubeClient(action.workspace).json<{ status?: { allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(review),
    repeatable: 'read',
  });
  return status?.allowed === true;
}

function answerTo(action: Action) {
  return queryOptions({
    queryKey: ['access', action.workspace, attributesOf(action)],
    // A workspace that refuses even the question allows nothing.
    queryFn: () => ask(action).catch(() => false),
    staleTime: 60_000,
    retry: false,
  });
}

/** Whether the person may do it. False until the answer is known, so that no button appears that would be refused. */
export function useCan(action: Action): boolean {
  return useQuery(answerTo(action)).data ?? false;
}

/** The same for several actions, in their order. */
export function useCanEach(actions: readonly Action[]): readonly boolean[] {
  return useQueries({ queries: actions.map(answerTo) }).map(({ data }) => data ?? false);
}

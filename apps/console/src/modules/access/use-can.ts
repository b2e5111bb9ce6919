import type { KindReference } from '@capstan/api';
import { isForbidden, isNotFound } from '@capstan/client/browser';
import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { kubeClient, type Place } from '../kube/client.ts';
import { allowsWriting, type ResourceRule } from './rules.ts';

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

/** Asks the API server about the rights of the person. */
async function review<T>(workspace: string, kind: string, spec: object): Promise<T | undefined> {
  const { status } = await kubeClient(workspace).json<{ status?: T }>({
    method: 'POST',
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind, spec }),
    repeatable: 'read',
  });
  return status;
}

async function ask(action: Action): Promise<boolean> {
  const status = await review<{ allowed?: boolean }>(action.workspace, 'SelfSubjectAccessReview', attributesOf(action));
  return status?.allowed === true;
}

/** A workspace that refuses even the question allows nothing. Any other error says nothing about rights. */
function noneIfRefused(error: unknown): false {
  if (isForbidden(error) || isNotFound(error)) return false;
  throw error;
}

function answerTo(action: Action) {
  return queryOptions({
    queryKey: ['access', action.workspace, attributesOf(action)],
    queryFn: () => ask(action).catch(noneIfRefused),
    staleTime: 60_000,
  });
}

/** `unknown` until the API server has answered. */
export type Access = 'unknown' | 'allowed' | 'refused';

const accessOf = (data: boolean | undefined): Access => (data === undefined ? 'unknown' : data ? 'allowed' : 'refused');

export const useAccess = (action: Action): Access => accessOf(useQuery(answerTo(action)).data);

/** Whether the person may create or change objects of some kind in a workspace. */
export function useWriteAccess(workspace: string): Access {
  const { data } = useQuery({
    queryKey: ['access', workspace, 'writing'],
    queryFn: async () => {
      const status = await review<{ resourceRules?: readonly ResourceRule[] }>(workspace, 'SelfSubjectRulesReview', {
        namespace: 'default',
      });
      return allowsWriting(status?.resourceRules ?? []);
    },
    staleTime: 60_000,
    retry: false,
  });
  return accessOf(data);
}

/** Whether the person may do it. False until the answer is known, so that no button appears that would be refused. */
export function useCan(action: Action): boolean {
  return useQuery(answerTo(action)).data ?? false;
}

/** The same for several actions, in their order. */
export function useCanEach(actions: readonly Action[]): readonly boolean[] {
  return useAccessEach(actions).map((access) => access === 'allowed');
}

export function useAccessEach(actions: readonly Action[]): readonly Access[] {
  return useQueries({ queries: actions.map(answerTo) }).map(({ data }) => accessOf(data));
}

import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { EditorCompletions } from '../../components/code-editor.tsx';
import { kubeClient } from '../kube/client.ts';
import { type SchemaDocument, schemaPath, suggestionsAt } from './schema-completion.ts';
import { kindIn, yamlPlace } from './yaml-place.ts';

/** Completes YAML with the schemas of a workspace. They are loaded when somebody types, and kept. */
export function useCompletions(workspace: string): (text: string, position: number) => Promise<EditorCompletions | undefined> {
  const queries = useQueryClient();
  return useCallback(
    async (text, position) => {
      const type = kindIn(text);
      const place = yamlPlace(text, position);
      if (type === undefined || place === undefined) return undefined;
      const path = schemaPath(type.apiVersion);
      const document = await queries
        .fetchQuery({
          queryKey: ['schemas', workspace, path],
          queryFn: () => kubeClient(workspace).json<SchemaDocument>({ method: 'GET', path, headers: { accept: 'application/json' } }),
          staleTime: 300_000,
          retry: false,
        })
        // A text without help is better than an error beside every letter.
        .catch(() => undefined);
      return document && { from: place.from, options: suggestionsAt(document, type, place) };
    },
    [workspace, queries],
  );
}

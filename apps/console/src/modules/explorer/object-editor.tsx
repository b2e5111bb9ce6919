import type { KubeObject } from '@capstan/machinery/objects';
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import form from '../../components/form.module.css';
import { Loading } from '../../components/states.tsx';
import { leavingWords } from '../../components/way-out.ts';
import { messageOf } from '../toasts/toasts.ts';
import { inOrderOf, objectIn, textOf } from './document.ts';
import styles from './object-editor.module.css';
import { useCompletions } from './use-completions.ts';

const CodeEditor = lazy(async () => ({ default: (await import('../../components/code-editor.tsx')).CodeEditor }));

interface ObjectEditorProps {
  /** Whose schemas complete the text. */
  readonly workspace: string;
  /** The text to begin with. */
  readonly initial: string;
  /** The object on the server, as text; undefined for a new one. */
  readonly stored?: string | undefined;
  readonly mayWrite: boolean;
  /** The verb on the button. */
  readonly action: string;
  /** Writes the object, or only pretends to. Returns what the server made of it. */
  readonly write: (object: KubeObject, dryRun: boolean) => Promise<KubeObject>;
  readonly onWritten: (object: KubeObject) => void;
  /** Called with whether the text differs from the one to begin with. */
  readonly onEdited?: (isEdited: boolean) => void;
}

/** YAML with a server-side dry run: the differences show what would really be stored, with defaults and the changes of webhooks. */
export function ObjectEditor({ workspace, initial, stored, mayWrite, action, write, onWritten, onEdited }: ObjectEditorProps) {
  const [text, setText] = useState(initial);
  const complete = useCompletions(workspace);
  const [outcome, setOutcome] = useState<string>();
  const preview = useMutation({
    mutationFn: async () => textOf(inOrderOf(await write(objectIn(text), true), objectIn(stored ?? text))),
    onSuccess: setOutcome,
  });
  const apply = useMutation({ mutationFn: () => write(objectIn(text), false), onSuccess: onWritten });
  const change = (next: string): void => {
    setText(next);
    onEdited?.(next !== initial);
  };
  const error = preview.error ?? apply.error;
  const isPreview = outcome !== undefined;
  return (
    <div className={styles['editor']}>
      {error !== null && (
        <p className={styles['error']} role="alert">
          {messageOf(error)}
        </p>
      )}
      {isPreview && (
        <p className={styles['note']}>
          {outcome === stored ? 'The server would change nothing.' : 'The server would store this. Green lines are new, red ones go.'}
        </p>
      )}
      <div className={styles['text']}>
        <Suspense fallback={<Loading what="Loading the editor" />}>
          {isPreview ? (
            <CodeEditor key="preview" text={outcome} before={stored ?? ''} isReadOnly />
          ) : (
            <CodeEditor key="text" text={text} isReadOnly={!mayWrite} onChange={change} complete={mayWrite ? complete : undefined} />
          )}
        </Suspense>
      </div>
      {mayWrite && (
        <div className={form['buttons']}>
          {isPreview ? (
            <Button variant="default" size="sm" onClick={() => setOutcome(undefined)}>
              Back to the text
            </Button>
          ) : (
            <Button variant="default" size="sm" loading={preview.isPending} onClick={() => preview.mutate()}>
              Dry run
            </Button>
          )}
          <Button size="sm" loading={apply.isPending} onClick={() => apply.mutate()}>
            {action}
          </Button>
          {!isPreview && <span className={form['hint']}>Tab indents. {leavingWords('editor')}</span>}
        </div>
      )}
    </div>
  );
}

import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { leavingWords } from './way-out.ts';

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent-text)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--text-faint)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '12.5px' },
  '.cm-scroller': { fontFamily: 'var(--font-code)', lineHeight: '19px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--text-faint)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selected) !important' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--selected)', color: 'var(--text)' },
  '.cm-completionDetail': { color: 'var(--text-soft)', fontStyle: 'normal' },
  '.cm-completionInfo': { maxWidth: '360px', fontFamily: 'var(--font-text)', whiteSpace: 'pre-wrap' },
  // Beside the options there is no room for it on a phone.
  '.cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow': { display: 'none' },
  '.cm-collapsedLines': { background: 'var(--hover)', color: 'var(--text-soft)', fontFamily: 'var(--font-text)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯"' },
  '.cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--good) 30%, transparent) !important' },
  '.cm-deletedChunk .cm-deletedText': { background: 'color-mix(in srgb, var(--bad) 30%, transparent) !important' },
});

const editing: Extension = [
  lineNumbers(),
  foldGutter(),
  history(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  search({ top: true }),
  keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...searchKeymap, indentWithTab]),
  EditorView.contentAttributes.of({ 'aria-label': 'YAML', 'aria-description': leavingWords('editor'), tabindex: '0' }),
];

/** Texts that can be inserted at a place. */
export interface EditorCompletions {
  /** Where the word begins that they replace. */
  readonly from: number;
  readonly options: readonly { readonly label: string; readonly detail: string; readonly info: string; readonly insert: string }[];
}

interface EditorProps {
  readonly text: string;
  readonly isReadOnly?: boolean;
  /** Shows the differences from this text. */
  readonly before?: string | undefined;
  readonly onChange?: (text: string) => void;
  readonly complete?: ((text: string, position: number) => Promise<EditorCompletions | undefined>) | undefined;
}

type Complete = NonNullable<EditorProps['complete']>;

/** Suggestions while somebody types a word, and everywhere with Ctrl+Space. */
async function completionsOf(complete: Complete, { state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> {
  const found = await complete(state.doc.toString(), pos);
  if (found === undefined || found.options.length === 0 || (!explicit && found.from === pos)) return null;
  const options = found.options.map(
    ({ label, detail, info, insert }): Completion => ({ label, detail, apply: insert, ...(info !== '' && { info }) }),
  );
  return { from: found.from, options, validFor: /^[\w./-]*$/ };
}

/**
 * An editor for YAML. It is in a shadow tree, where its library uses constructed style sheets: the policy of the pages forbids style elements.
 */
export function CodeEditor({ text, isReadOnly = false, before, onChange, complete }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(onChange);
  latest.current = onChange;
  const completing = useRef(complete);
  completing.current = complete;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text replaces the one in the editor, below.
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          editing,
          yaml(),
          syntaxHighlighting(colours),
          look,
          EditorState.readOnly.of(isReadOnly),
          autocompletion({
            icons: false,
            override: [(context) => (completing.current === undefined ? null : completionsOf(completing.current, context))],
          }),
          ...(before === undefined
            ? []
            : [unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } })]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [isReadOnly, before]);

  useEffect(() => {
    const shown = view.current;
    if (shown === undefined || shown.state.doc.toString() === text) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: text } });
  }, [text]);

  return <div ref={host} style={{ height: '100%' }} />;
}

import { ActionIcon, Tooltip } from '@mantine/core';
import { useState } from 'react';
import styles from './copy.module.css';
import { Icon } from './icon.tsx';

/** Copies a text to the clipboard. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Tooltip label={isCopied ? 'Copied' : label}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => void copy()}>
        <Icon name={isCopied ? 'check' : 'copy'} size={14} />
      </ActionIcon>
    </Tooltip>
  );
}

/** A command to paste into a shell. */
export function Command({ text, label = 'Copy the command' }: { readonly text: string; readonly label?: string }) {
  return (
    <div className={styles['command']}>
      <pre>{text}</pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Confirm } from './confirm.tsx';
import { Icon, type IconName } from './icon.tsx';

/** A button for something that can be done with an object now. */
export interface ActionButton {
  readonly label: string;
  readonly icon?: IconName;
  /** The next thing to do. */
  readonly isPrimary?: boolean;
  readonly isPending?: boolean;
  readonly run: () => void;
  /** Asked before it is done. */
  readonly confirm?: {
    readonly title: string;
    readonly text: ReactNode;
    /** Has to be typed. */
    readonly typed?: string | undefined;
    readonly isDangerous?: boolean;
  };
}

/** Buttons such as Start, Stop and Delete. Those that the person may not press, or that make no sense now, are left out by `false`. */
export function ActionButtons({ actions }: { readonly actions: readonly (ActionButton | false)[] }) {
  const [asked, setAsked] = useState<string>();
  const offered = actions.filter((action) => action !== false);
  const asking = offered.find(({ label }) => label === asked);
  return (
    <>
      {offered.map(({ label, icon, isPrimary = false, isPending = false, run, confirm }) => (
        <Button
          key={label}
          {...(!isPrimary && { variant: 'default' })}
          {...(icon !== undefined && { leftSection: <Icon name={icon} size={13} /> })}
          loading={isPending}
          onClick={() => (confirm === undefined ? run() : setAsked(label))}
        >
          {label}
        </Button>
      ))}
      {asking?.confirm !== undefined && (
        <Confirm
          title={asking.confirm.title}
          action={asking.label}
          typed={asking.confirm.typed}
          isDangerous={asking.confirm.isDangerous ?? true}
          onConfirm={asking.run}
          onClose={() => setAsked(undefined)}
        >
          {asking.confirm.text}
        </Confirm>
      )}
    </>
  );
}

import '@xterm/xterm/css/xterm.css';
import { Button } from '@mantine/core';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Screen } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { leavingWords, WayOut } from '../../components/way-out.ts';
import { inputFrame, receive, sizeFrame } from './channel.ts';
import { openStream } from './open-stream.ts';
import { withStyleSheets } from './style-sheets.ts';
import styles from './terminal.module.css';

export interface TerminalProps {
  /** A stream of a command below `/kube`, with its query. */
  readonly path: string;
}

const colours = { background: '#111214', foreground: '#e6e6e4', cursor: '#9aa5ff', selectionBackground: '#3a3f66' };

/** A shell. The terminal is the one place that understands escape sequences. */
export function Terminal({ path }: TerminalProps) {
  const host = useRef<HTMLDivElement>(null);
  const [attempt, setAttempt] = useState(0);
  const [ended, setEnded] = useState<string>();

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens another shell.
  useEffect(() => {
    setEnded(undefined);
    const screen = new Screen({
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-code'),
      fontSize: 13,
      cursorBlink: true,
      scrollback: 5000,
      theme: colours,
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    const removeSheets = withStyleSheets(() => screen.open(host.current!));
    screen.textarea?.setAttribute('aria-description', leavingWords('terminal'));
    const wayOut = new WayOut(Date.now);
    screen.attachCustomKeyEventHandler((event) => !wayOut.takes(event));
    fit.fit();
    screen.focus();

    const socket = openStream(path);
    const send = (bytes: Uint8Array<ArrayBuffer>): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(bytes);
    };
    const sendSize = (): void => send(sizeFrame({ columns: screen.cols, rows: screen.rows }));
    let message: string | undefined;
    socket.onopen = sendSize;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      const received = receive(data);
      if (received.type === 'stdout' || received.type === 'stderr') screen.write(received.bytes);
      if (received.type === 'end')
        message = received.isSuccess ? 'The shell has ended.' : (received.message ?? 'The shell has ended with an error.');
    };
    socket.onclose = ({ reason }) => setEnded(message ?? (reason || 'The connection to the shell is lost.'));
    screen.onData((text) => send(inputFrame(text)));
    screen.onResize(sendSize);
    const resize = new ResizeObserver(() => fit.fit());
    resize.observe(host.current!);
    return () => {
      resize.disconnect();
      socket.onclose = null;
      socket.close();
      screen.dispose();
      removeSheets();
    };
  }, [path, attempt]);

  return (
    <div className={styles['terminal']}>
      <div ref={host} className={styles['screen']} />
      {ended === undefined && <p className={styles['hint']}>{leavingWords('terminal')}</p>}
      {ended !== undefined && (
        <div className={styles['ended']} role="status">
          <span>{ended}</span>
          <Button leftSection={<Icon name="retry" size={13} />} onClick={() => setAttempt(attempt + 1)}>
            Open another shell
          </Button>
        </div>
      )}
    </div>
  );
}

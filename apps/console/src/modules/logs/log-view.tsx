import { ActionIcon, Button, Checkbox, TextInput, Tooltip } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { downloadText } from '../../components/download.ts';
import { Icon } from '../../components/icon.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { count } from '../format/format.ts';
import type { LogLine } from './log-buffer.ts';
import styles from './log-view.module.css';
import { matchesIn, partsOf } from './search.ts';
import { type LogSource, useLogs } from './use-logs.ts';

interface LogViewProps {
  readonly source: LogSource;
  /** Of the file with the lines, without its ending. */
  readonly name: string;
  /** More choices, beside the others. */
  readonly options?: React.ReactNode;
  /** Why there may be no output. */
  readonly missing?: string;
}

/** The output of a program, live. */
export function LogView({ source, name, options, missing = 'It appears here as soon as the program has started.' }: LogViewProps) {
  const [attempt, setAttempt] = useState(0);
  const logs = useLogs({ ...source, run: `${source.run} ${attempt}` });
  switch (logs.state) {
    case 'loading':
      return <Loading what="Reading the output" />;
    case 'error':
      return logs.isMissing ? (
        <Empty icon="terminal" title="There is no output">
          {missing}
        </Empty>
      ) : (
        <Failure
          title="The output cannot be read"
          detail={logs.message}
          next="It may be there again in a moment."
          onRetry={() => setAttempt(attempt + 1)}
        />
      );
    case 'content':
      return <Lines name={name} lines={logs.lines} dropped={logs.dropped} isEnded={logs.isEnded} options={options} />;
  }
}

interface LinesProps {
  readonly name: string;
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly isEnded: boolean;
  readonly options: React.ReactNode;
}

const lineHeight = 19;

function Lines({ name, lines, dropped, isEnded, options }: LinesProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const [hasTimes, setTimes] = useState(false);
  const [isFollowing, setFollowing] = useState(true);
  const matches = useMemo(() => matchesIn(lines, query), [lines, query]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [isFollowing, lines.length, virtual]);
  const show = (index: number): void => {
    const wrapped = (index + matches.length) % Math.max(1, matches.length);
    setAt(wrapped);
    setFollowing(false);
    if (matches[wrapped] !== undefined) virtual.scrollToIndex(matches[wrapped], { align: 'center' });
  };
  return (
    <div className={styles['view']}>
      <div className={styles['bar']} role="toolbar" aria-label="Output">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            show(at + 1);
          }}
        >
          <TextInput
            size="xs"
            placeholder="Search"
            aria-label="Search the output"
            leftSection={<Icon name="search" size={13} />}
            value={query}
            onChange={(event) => {
              setQuery(event.currentTarget.value);
              setAt(0);
            }}
          />
        </form>
        {query !== '' && (
          <span className={styles['found']} role="status">
            {matches.length === 0 ? 'nothing found' : `${at + 1} of ${matches.length.toLocaleString('en')}`}
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label="The match before" onClick={() => show(at - 1)}>
              ↑
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label="The next match" onClick={() => show(at + 1)}>
              ↓
            </ActionIcon>
          </span>
        )}
        {lines[0]?.time !== '' && (
          <Checkbox size="xs" label="Times" checked={hasTimes} onChange={(event) => setTimes(event.currentTarget.checked)} />
        )}
        {options}
        <span className={styles['count']}>
          {count(lines.length, 'line')}
          {dropped > 0 && `, ${dropped.toLocaleString('en')} older ones not shown`}
          {isEnded && ' · ended'}
        </span>
        {!isEnded && (
          <Button
            variant="subtle"
            color="gray"
            leftSection={<Icon name={isFollowing ? 'pause' : 'play'} size={13} />}
            onClick={() => setFollowing(!isFollowing)}
          >
            {isFollowing ? 'Pause' : 'Follow'}
          </Button>
        )}
        <Tooltip label="Download these lines">
          <ActionIcon variant="subtle" color="gray" aria-label="Download" onClick={() => download(name, lines, hasTimes)}>
            <Icon name="download" />
          </ActionIcon>
        </Tooltip>
      </div>
      {lines.length === 0 ? (
        <p className={styles['none']}>{isEnded ? 'The program has printed nothing.' : 'The program has printed nothing yet.'}</p>
      ) : (
        <section
          ref={scroller}
          className={styles['lines']}
          aria-label="Output of the program"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable with the keyboard.
          tabIndex={0}
          onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
        >
          <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
            {virtual.getVirtualItems().map(({ index, start }) => (
              <Line key={index} line={lines[index]!} query={query} top={start} hasTime={hasTimes} isCurrent={matches[at] === index} />
            ))}
          </div>
        </section>
      )}
    </div>
  );
}

interface LineProps {
  readonly line: LogLine;
  readonly query: string;
  readonly top: number;
  readonly hasTime: boolean;
  readonly isCurrent: boolean;
}

function Line({ line, query, top, hasTime, isCurrent }: LineProps) {
  return (
    <div className={styles['line']} data-current={isCurrent || undefined} style={{ transform: `translateY(${top}px)` }}>
      <span className={styles['number']}>{line.number}</span>
      {hasTime && <span className={styles['time']}>{line.time.slice(0, 19).replace('T', ' ')}</span>}
      <span>
        {partsOf(line.text, query).map((part, index) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one line have no other identity.
          part.isFound ? <mark key={index}>{part.text}</mark> : part.text,
        )}
      </span>
    </div>
  );
}

function download(name: string, lines: readonly LogLine[], hasTimes: boolean): void {
  const text = lines.map(({ time, text: line }) => (hasTimes ? `${time} ${line}\n` : `${line}\n`)).join('');
  downloadText(`${name}.log`, text);
}

import type { Message } from './messages.ts';

interface Place {
  time: string;
  /** Messages with this time that are in the files. */
  count: number;
}

/** How far the log of a container has been copied, for each stream: their messages are in order of time, both together need not be. */
export class LogCursor {
  readonly #places: Readonly<Record<Message['stream'], Place>>;
  /** Messages that are sent again at the start of an answer. */
  #seen: Record<Message['stream'], Place | undefined> = { stdout: undefined, stderr: undefined };

  private constructor(places: Readonly<Record<Message['stream'], Place>>) {
    this.#places = places;
  }

  /** From lines that were written before, oldest first. `isCut`: older ones were deleted. */
  static after(lines: Iterable<string>, { isCut = false } = {}): LogCursor {
    const places: Record<Message['stream'], Place> = { stdout: { time: '', count: 0 }, stderr: { time: '', count: 0 } };
    let oldest: string | undefined;
    for (const line of lines) {
      const [time, stream] = line.split(' ', 2);
      if (time === undefined || (stream !== 'stdout' && stream !== 'stderr')) continue;
      oldest ??= time;
      advance(places[stream], time);
    }
    // Those that were deleted may have been of a stream that has none here.
    if (isCut && oldest !== undefined)
      for (const place of Object.values(places))
        if (place.time === '') Object.assign(place, { time: oldest, count: Number.POSITIVE_INFINITY });
    return new LogCursor(places);
  }

  /** The parameter `since` of the next request, in seconds; undefined at the beginning. The answer begins with messages that are known. */
  begin(): string | undefined {
    const { stdout, stderr } = this.#places;
    this.#seen = { stdout: { time: '', count: 0 }, stderr: { time: '', count: 0 } };
    const first = [stdout.time, stderr.time].sort()[0]!;
    if (first === '') return undefined;
    const [second, fraction = '0'] = first.replace('Z', '').split('.');
    return `${Date.parse(`${second}Z`) / 1000}.${fraction}`;
  }

  /** Whether a message is new. It counts as known from now on. */
  take({ stream, time }: Message): boolean {
    const place = this.#places[stream];
    const seen = this.#seen[stream];
    if (seen !== undefined) {
      advance(seen, time);
      if (time < place.time || (time === place.time && seen.count <= place.count)) return false;
      // Later times may be earlier again, if the clock is set.
      this.#seen[stream] = undefined;
    }
    advance(place, time);
    return true;
  }
}

function advance(place: Place, time: string): void {
  place.count = place.time === time ? place.count + 1 : 1;
  place.time = time;
}

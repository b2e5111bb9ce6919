/** One for each line of a plot, in this order, and again from the first. */
const colours = ['#5b6bf0', '#1f9d73', '#d08a1d', '#c2479b', '#2f8fd0', '#8a6ad8', '#7f8a2f', '#c75a3a'];

export const colourOf = (index: number): string => colours[index % colours.length]!;

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const minute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const second = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** `3 Nov`, of seconds since 1970. Days are those of UTC. */
export const dayWords = (seconds: number): string => day.format(seconds * 1000);

/** `14:05`, or `14:05:30` where minutes are too coarse, in the time zone of the reader. */
export const clockWords = (seconds: number, isFine = false): string => (isFine ? second : minute).format(seconds * 1000);

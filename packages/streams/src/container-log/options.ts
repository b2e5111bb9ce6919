export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

const wholeNumber = /^\d{1,15}$/;

/** The options of `pods/log`; a sentence if they cannot be used. */
export function logOptions(query: Pick<URLSearchParams, 'get'>, now: number): LogOptions | string {
  const number = (name: string): number | undefined | string => {
    const text = query.get(name);
    return text === null
      ? undefined
      : wholeNumber.test(text)
        ? Number(text)
        : `expected a whole number for ${name}, found ${JSON.stringify(text)}`;
  };
  const [tailLines, limitBytes, seconds] = [number('tailLines'), number('limitBytes'), number('sinceSeconds')];
  const wrong = [tailLines, limitBytes, seconds].find((one) => typeof one === 'string');
  if (typeof wrong === 'string') return wrong;
  const text = query.get('sinceTime');
  const time = text === null ? undefined : Date.parse(text);
  if (Number.isNaN(time)) return `expected a time for sinceTime, found ${JSON.stringify(text)}`;
  const since = time ?? (typeof seconds === 'number' ? now - seconds * 1_000 : undefined);
  const isSet = (name: string): boolean => query.get(name) === 'true' || query.get(name) === '1';
  return {
    follow: isSet('follow'),
    previous: isSet('previous'),
    timestamps: isSet('timestamps'),
    ...(since !== undefined && { since }),
    ...(typeof tailLines === 'number' && { tailLines }),
    ...(typeof limitBytes === 'number' && { limitBytes }),
  };
}

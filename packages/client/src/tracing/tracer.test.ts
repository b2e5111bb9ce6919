import { expect, expectTypeOf, test } from 'vitest';
import { noTracer, type Span, type Tracer, traced } from './tracer.ts';

/** The parts of `Span` and `Tracer` of `@opentelemetry/api` 1.x that matter for whether they fit. */
interface OpenTelemetrySpan {
  setAttribute(key: string, value: string | number | boolean | (string | null | undefined)[]): this;
  recordException(exception: string | Error, time?: number | Date): void;
  setStatus(status: { code: 0 | 1 | 2; message?: string }): this;
  end(endTime?: number | Date): void;
}
interface OpenTelemetryTracer {
  startActiveSpan<F extends (span: OpenTelemetrySpan) => unknown>(name: string, work: F): ReturnType<F>;
  startActiveSpan<F extends (span: OpenTelemetrySpan) => unknown>(
    name: string,
    options: { kind?: number; attributes?: Record<string, unknown>; root?: boolean },
    work: F,
  ): ReturnType<F>;
  startActiveSpan<F extends (span: OpenTelemetrySpan) => unknown>(
    name: string,
    options: { kind?: number; attributes?: Record<string, unknown> },
    context: { getValue(key: symbol): unknown },
    work: F,
  ): ReturnType<F>;
}

test('a tracer of OpenTelemetry fits', () => {
  expectTypeOf<OpenTelemetryTracer>().toExtend<Tracer>();
});

function recording(): { readonly tracer: Tracer; readonly seen: string[] } {
  const seen: string[] = [];
  const span: Span = {
    setAttribute: (key, value) => seen.push(`${key}=${value}`),
    recordException: (error) => seen.push(String(error)),
    setStatus: ({ code, message }) => seen.push(`${code} ${message}`),
    end: () => seen.push('end'),
  };
  const tracer: Tracer = {
    startActiveSpan(name, _, work) {
      seen.push(name);
      return work(span);
    },
  };
  return { seen, tracer };
}

test('a span ends with its work, and has its error', async () => {
  const { tracer, seen } = recording();
  const result = await traced(tracer, { name: 'fine', attributes: {} }, async (span) => {
    span.setAttribute('a', 1);
    return 'result';
  });
  expect(result).toBe('result');
  const failing = traced(tracer, { name: 'failing', attributes: {} }, () => Promise.reject(new Error('no luck')));
  await expect(failing).rejects.toThrow('no luck');
  expect(seen).toEqual(['fine', 'a=1', 'end', 'failing', 'Error: no luck', '2 no luck', 'end']);
});

test('without a tracer the work just runs', async () => {
  expect(await traced(noTracer, { name: 'it', attributes: {} }, () => Promise.resolve(1))).toBe(1);
});

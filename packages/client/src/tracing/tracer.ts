export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One traced piece of work. `@opentelemetry/api` has it as `Span`. */
export interface Span {
  setAttribute(key: string, value: string | number | boolean): unknown;
  recordException(error: Error | string): void;
  /** 1 is success and 2 is failure, as in OpenTelemetry. */
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** Traces work. A `Tracer` of `@opentelemetry/api` fits, so a program that uses it passes its own: `trace.getTracer('my-controller')`. */
export interface Tracer {
  /** Calls `work` with a new span that is current while it runs, and returns its result. `work` ends the span. */
  startActiveSpan<T>(name: string, options: { attributes?: SpanAttributes }, work: (span: Span) => T): T;
}

const nothing = (): void => {};
const noSpan: Span = { setAttribute: nothing, recordException: nothing, setStatus: nothing, end: nothing };

/** Traces nothing. */
export const noTracer: Tracer = { startActiveSpan: (_name, _options, work) => work(noSpan) };

const failed = 2;

/** Traces a piece of work: the span ends with it, and has its error. */
export function traced<T>(
  tracer: Tracer,
  { name, attributes }: { readonly name: string; readonly attributes: SpanAttributes },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      const exception = error instanceof Error ? error : String(error);
      span.recordException(exception);
      span.setStatus({ code: failed, message: exception instanceof Error ? exception.message : exception });
      throw error;
    } finally {
      span.end();
    }
  });
}

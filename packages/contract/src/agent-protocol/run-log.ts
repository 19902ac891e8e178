/** The log of a run: the lines that its steps print. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { DateTime, oneOf, Uuid } from '../primitives.ts';

export const logStreams = ['stdout', 'stderr', 'component'] as const;
/** `stdout` and `stderr` of a script; `component`: what a component itself says. */
export type LogStream = (typeof logStreams)[number];

/** Characters of a line. A longer one is cut, and its end says so. */
export const logLineLimit = 10_000;
/** Lines and bytes of one run. Further output is dropped, and one more line says so. */
export const logLinesLimit = 100_000;
export const logBytesLimit = 10 * 1_048_576;

export const LogLine = named(
  'PipelineExecutionLogLine',
  Type.Object({
    sequence: Type.Integer({
      minimum: 1,
      maximum: logLinesLimit + 1,
      description: 'The place of the line in the log of the execution, from 1',
    }),
    timestamp: DateTime,
    stepId: Uuid,
    stream: oneOf(logStreams, {
      description: 'stdout and stderr of a script; component: what a component itself prints',
    }),
    text: Type.String({ maxLength: logLineLimit, description: 'Secrets are masked' }),
  }),
);
export type LogLine = Static<typeof LogLine>;

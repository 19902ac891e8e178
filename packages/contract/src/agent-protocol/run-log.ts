/** The log of a run: the lines that its steps print. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { DateTime, oneOf, Uuid } from '../primitives.ts';
import { logLineLimit, logLinesLimit } from './protocol-constants.ts';

export const logStreams = ['stdout', 'stderr', 'component'] as const;
/** `stdout` and `stderr` of a script; `component`: what a component itself says. */
export type LogStream = (typeof logStreams)[number];

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

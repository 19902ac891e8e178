/** What validation reports about one file, and the questions that only other files can answer. */

import type { SharedPipelineUse } from '../components/definition/shared-pipeline-use.ts';
import { connectorProfileName } from '../connectors/profile-file.ts';
import type { JsonMap } from '../connectors/profile-reader.ts';

export const findingCodes = [
  'syntax-error',
  'pipeline-file-name',
  'unknown-component-type',
  'component-type-misplaced',
  'misspelled-member',
  'missing-start',
  'several-starts',
  'dangling-transition',
  'transition-not-allowed',
  'transition-cycle',
  'unstartable-and',
  'missing-iteration-target',
  'iteration-target-not-allowed',
  'iteration-cycle',
  'unreachable-component',
  'dangling-source',
  'source-count',
  'source-cycle',
  'missing-output',
  'unused-component',
  'missing-parameter',
  'misspelled-parameter',
  'invalid-parameter',
  'invalid-default-value',
  'missing-pipeline',
  'pipeline-calls-itself',
  'shared-pipeline-use',
  'missing-shared-pipeline',
  'missing-connector-profile',
  'missing-connector-endpoint',
  'invalid-connection',
  'undeclared-variable',
  'variable-type',
  'unknown-secret-reference',
  'private-variable',
  'shared-iterator-variable',
  'unclosed-expression',
  'invalid-expression',
  'literal-value',
  'no-effect',
  'missing-file',
  'warehouse-not-supported',
  'more-findings',
] as const;
export type FindingCode = (typeof findingCodes)[number];

/**
 * error: a run that can reach the place does not start, and a strict upload is refused. warning: the run may
 * fail or do something unintended.
 */
export type FindingLevel = 'error' | 'warning';

export interface Finding {
  path: string;
  /** Counts from 1. */
  line: number;
  component?: string;
  code: FindingCode;
  message: string;
  level: FindingLevel;
}

/** Why a pipeline file or connector profile cannot be read. `reason` names the line and column if they are known. */
export interface Unreadable {
  reason: string;
  /** Counts from 1. */
  line: number;
}

export function createUnreadableFinding(path: string, { reason, line }: Unreadable): Finding {
  const what = connectorProfileName(path) === undefined ? 'pipeline' : 'connector profile';
  const message = `the ${what} cannot be read: ${reason}: correct the file`;
  return { path, line, code: 'syntax-error', message, level: 'error' };
}

/** A place in the file: keys below the component, or keys from the root if there is no component. */
interface Place {
  component?: string;
  at?: readonly string[];
}

/**
 * What a check reports. An error becomes a warning if its component cannot run. `passing`: it stays an error
 * if the component is skipped but the walk passes it.
 */
export interface Draft extends Place {
  code: FindingCode;
  message: string;
  level: FindingLevel;
  passing?: boolean;
}
export type Report = (draft: Draft) => void;

export type VariableUse = 'scalar' | 'grid';

/** A question that only the other files of the project, or the start of a run, can answer. */
export type QuestionText =
  | { asks: 'variable'; name: string }
  | { asks: 'secret'; name: string }
  | { asks: 'file'; path: string }
  /** Of a connector. Texts may be expressions. */
  | { asks: 'endpoint'; profile: string; endpoint: string; connection: JsonMap }
  /** `certain`: every run in which no component fails makes the call. */
  /** `orPath`: the path that is meant if there is no pipeline at the first one. */
  | { asks: 'call'; path: string; orPath?: string; sets: readonly CallArgument[]; certain: boolean }
  /** `pipelineName` is absent if it is an expression. */
  | {
      asks: 'shared-call';
      use: SharedPipelineUse;
      pipelineName?: string;
      sets: readonly CallArgument[];
      certain: boolean;
    };

/** A variable set by a call. */
export interface CallArgument {
  name: string;
  as: VariableUse;
}

/**
 * A question from one place in a file. `reached`: the component can run, so a wrong reference is an error.
 */
export type Question = QuestionText & { component?: string; line: number; reached: boolean };

/** Receives the findings and questions of one file, in the order of the report. */
export interface Notes {
  report: Report;
  ask(request: QuestionText & Place): void;
}

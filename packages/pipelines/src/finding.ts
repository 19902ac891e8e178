/** What validation reports of one file, and what it leaves to be asked of the others. */
import type { SharedPipelineUse } from './shared-pipeline-use.ts';

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
  'undeclared-variable',
  'variable-type',
  'unknown-secret-reference',
  'private-variable',
  'shared-iterator-variable',
  'unclosed-expression',
  'invalid-expression',
  'no-effect',
  'missing-file',
  'warehouse-not-supported',
  'more-findings',
] as const;
export type FindingCode = (typeof findingCodes)[number];

/**
 * error: a run that comes to it does not start, and a strict upload is refused; warning: it may fail, or do
 * something unwanted.
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

/** Why a pipeline file cannot be read; `reason` names line and column where there is such a place. */
export interface Unreadable {
  reason: string;
  /** Counts from 1. */
  line: number;
}

export function unreadableFinding(path: string, { reason, line }: Unreadable): Finding {
  const message = `the pipeline cannot be read: ${reason}: correct the file`;
  return { path, line, code: 'syntax-error', message, level: 'error' };
}

/** What a check says of its place in the file: the keys below the component, or from the root when it names no component. */
interface Place {
  component?: string;
  at?: readonly string[];
}

/**
 * What a check reports. An error is kept as a warning when its component cannot run. `passing`: it also
 * counts where the walk passes a skipped component.
 */
export interface Draft extends Place {
  code: FindingCode;
  message: string;
  level: FindingLevel;
  passing?: boolean;
}
export type Report = (draft: Draft) => void;

export type VariableUse = 'scalar' | 'grid';

/** What only the other files of the project, or the start of a run, can answer. */
export type Asked =
  | { asks: 'variable'; name: string }
  | { asks: 'secret'; name: string }
  | { asks: 'file'; path: string }
  /** `certain`: nothing but a failure before it keeps the call from being made. */
  | { asks: 'call'; path: string; sets: readonly CallArgument[]; certain: boolean }
  /** `pipelineName` is absent when it is an expression. */
  | {
      asks: 'shared-call';
      use: SharedPipelineUse;
      pipelineName?: string;
      sets: readonly CallArgument[];
      certain: boolean;
    };

/** A variable that a call sets. */
export interface CallArgument {
  name: string;
  as: VariableUse;
}

/**
 * A question of one place in a file. `reached`: the component can run, so that a wrong answer is an error.
 */
export type Question = Asked & { component?: string; line: number; reached: boolean };

/** Takes what the checks of one file have to say, in the order in which it is to be reported. */
export interface Notes {
  report: Report;
  ask(asked: Asked & Place): void;
}

/** What validation reports of one file, and what it leaves to be asked of the others. */

export type FindingCode =
  | 'syntax-error'
  | 'unknown-component-type'
  | 'component-type-misplaced'
  | 'missing-start'
  | 'several-starts'
  | 'dangling-transition'
  | 'transition-not-allowed'
  | 'missing-iteration-target'
  | 'unreachable-component'
  | 'dangling-source'
  | 'source-count'
  | 'source-cycle'
  | 'missing-output'
  | 'unused-component'
  | 'missing-parameter'
  | 'missing-pipeline'
  | 'pipeline-calls-itself'
  | 'shared-pipeline-use'
  | 'undeclared-variable'
  | 'unknown-secret-reference'
  | 'private-variable'
  | 'shared-iterator-variable'
  | 'unclosed-expression'
  | 'missing-file'
  | 'more-findings';

export interface Finding {
  path: string;
  component?: string;
  code: FindingCode;
  message: string;
  /** error: the component, or the pipeline, cannot run; warning: it may fail, or do something unwanted. */
  level: 'error' | 'warning';
}

export type Report = (finding: Omit<Finding, 'path'>) => void;

/** What only the other files of the project can answer. */
export type Question =
  | { asks: 'variable'; component: string; name: string }
  | { asks: 'secret'; component?: string; name: string }
  | { asks: 'file'; component: string; path: string }
  | { asks: 'call'; component: string; path: string; sets: readonly string[] };

/** Takes what the checks of one file have to say, in the order in which it is to be told. */
export interface Notes {
  report: Report;
  ask(question: Question): void;
}

/** What validation reports, and what its parts look things up in. */
import type { Pipeline } from './pipeline.ts';

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
  | 'private-variable'
  | 'shared-iterator-variable'
  | 'unclosed-expression';

export interface Finding {
  path: string;
  component?: string;
  code: FindingCode;
  message: string;
  /** error: the component, or the pipeline, cannot run; warning: it may fail, or do something unwanted. */
  level: 'error' | 'warning';
}

export type Report = (finding: Omit<Finding, 'path'>) => void;

export interface Project {
  pipelines: ReadonlyMap<string, Pipeline>;
  variables: ReadonlySet<string>;
}

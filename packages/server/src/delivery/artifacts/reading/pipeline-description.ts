/** What the server stores of each pipeline of a version, so that starting one reads no file. */
import {
  type PipelineOutline,
  pipelinePath,
  pipelineTypeOf,
  type SharedPipelineUse,
  type Unreadable,
} from '@headgate/pipelines';

export interface PipelineDescription {
  name: string;
  type: 'ORCHESTRATION' | 'TRANSFORMATION';
  variables: PipelineOutline['variables'];
  /** The beginning of its notes; absent without notes. */
  description?: string;
  /** The versions of shared pipelines that it uses; absent if there are none. */
  sharedPipelines?: SharedPipelineUse[];
  /** Of a test: the pipelines that it runs, as written. Absent if it is no test. */
  testedPipelines?: string[];
}

/** The name of a pipeline in responses: its path with extension. */
export function renderPipelinePath({ name, type }: Pick<PipelineDescription, 'name' | 'type'>): string {
  return pipelinePath(name, type === 'ORCHESTRATION' ? 'orchestration' : 'transformation');
}

export type Described =
  | { pipeline: PipelineDescription; fault?: undefined }
  | { pipeline?: undefined; fault: Unreadable };

export function isPipelinePath(path: string): boolean {
  return pipelineTypeOf(path) !== undefined;
}

export function describePipeline(outline: PipelineOutline): PipelineDescription {
  const { name, type, variables, description, sharedPipelines, testedPipelines } = outline;
  return {
    name,
    type: type === 'orchestration' ? 'ORCHESTRATION' : 'TRANSFORMATION',
    variables,
    ...(description === '' ? {} : { description }),
    ...(sharedPipelines.length === 0 ? {} : { sharedPipelines }),
    ...(testedPipelines === undefined ? {} : { testedPipelines }),
  };
}

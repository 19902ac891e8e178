/** What the server remembers of each pipeline of a version, so that starting one needs no file. */
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
  /** Its notes, from the beginning; absent without any. */
  description?: string;
  /** The versions of shared pipelines that it uses; absent when it uses none. */
  sharedPipelines?: SharedPipelineUse[];
}

/** The one name of a pipeline in answers: its path with its extension. */
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
  const { name, type, variables, description, sharedPipelines } = outline;
  return {
    name,
    type: type === 'orchestration' ? 'ORCHESTRATION' : 'TRANSFORMATION',
    variables,
    ...(description === '' ? {} : { description }),
    ...(sharedPipelines.length === 0 ? {} : { sharedPipelines }),
  };
}

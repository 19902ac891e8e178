/** What the server remembers of each pipeline of a version, so that starting one needs no file. */
import {
  type PipelineSyntaxError,
  parsePipeline,
  pipelineTypeOf,
  type SharedPipelineUse,
  sharedPipelineUses,
  type VariableDeclaration,
} from '@headgate/pipelines';

export interface PipelineDescription {
  name: string;
  type: 'ORCHESTRATION' | 'TRANSFORMATION';
  variables: {
    name: string;
    type: VariableDeclaration['type'];
    visibility: VariableDeclaration['visibility'];
  }[];
  /** Its notes, from the beginning; absent without any. */
  description?: string;
  /** The versions of shared pipelines that it uses; absent when it uses none. */
  sharedPipelines?: SharedPipelineUse[];
}

export type Described = { pipeline: PipelineDescription } | { fault: string };

export function isPipelinePath(path: string): boolean {
  return pipelineTypeOf(path) !== undefined;
}

/** Parses a pipeline file; one that cannot be read is answered by its fault, with line and column. */
export function describePipeline(path: string, text: string): Described {
  const { pipeline, error } = parsePipeline(path, text);
  if (error !== undefined) return { fault: sentence(error) };
  const variables = [...pipeline.variables.values()].map(({ name, type, visibility }) => ({
    name,
    type,
    visibility,
  }));
  const type = pipeline.type === 'orchestration' ? 'ORCHESTRATION' : 'TRANSFORMATION';
  const sharedPipelines = sharedPipelineUses(pipeline);
  return {
    pipeline: {
      name: pipeline.name,
      type,
      variables,
      ...(pipeline.description === '' ? {} : { description: pipeline.description }),
      ...(sharedPipelines.length === 0 ? {} : { sharedPipelines }),
    },
  };
}

function sentence({ line, column, message }: PipelineSyntaxError): string {
  return `The pipeline cannot be read: line ${line}, column ${column}: ${message}`.slice(0, 2_000);
}

/** What the server remembers of each pipeline of a version, so that starting one needs no file. */
import { sharedArtifactLimit } from '@headgate/contract';
import {
  type Pipeline,
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

const descriptionLimit = 1_000;

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
  const description = descriptionOf(pipeline);
  const sharedPipelines = sharedPipelineUses(pipeline);
  if (sharedPipelines.length > sharedArtifactLimit) return { fault: tooManyVersions(sharedPipelines.length) };
  return {
    pipeline: {
      name: pipeline.name,
      type,
      variables,
      ...(description === '' ? {} : { description }),
      ...(sharedPipelines.length === 0 ? {} : { sharedPipelines }),
    },
  };
}

/** As the database keeps it: what YAML can write and a text cannot hold is left out. */
function descriptionOf({ notes }: Pipeline): string {
  const text = notes.join('\n\n').replaceAll('\0', '').toWellFormed();
  if (text.length <= descriptionLimit) return text;
  return `${text.slice(0, descriptionLimit - 1).toWellFormed()}…`;
}

function tooManyVersions(count: number): string {
  return `The pipeline uses ${count} versions of shared pipelines; an execution uses ${sharedArtifactLimit} at most.`;
}

function sentence({ line, column, message }: PipelineSyntaxError): string {
  return `The pipeline cannot be read: line ${line}, column ${column}: ${message}`.slice(0, 2_000);
}

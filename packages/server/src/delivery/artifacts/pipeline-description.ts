/** What the server remembers of each pipeline of a version, so that starting one needs no file. */
import { type PipelineOutline, pipelineTypeOf } from '@headgate/pipelines';

export interface PipelineDescription {
  name: string;
  type: 'ORCHESTRATION' | 'TRANSFORMATION';
  variables: PipelineOutline['variables'];
}

export type Described =
  | { pipeline: PipelineDescription; fault?: undefined }
  | { pipeline?: undefined; fault: string };

export function isPipelinePath(path: string): boolean {
  return pipelineTypeOf(path) !== undefined;
}

export function describePipeline({ name, type, variables }: PipelineOutline): PipelineDescription {
  return { name, type: type === 'orchestration' ? 'ORCHESTRATION' : 'TRANSFORMATION', variables };
}
